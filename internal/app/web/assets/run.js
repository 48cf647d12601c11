// A run's page: its result, curves that grow while it runs, the trajectory of its weights, its settings and files.
import { h, get, post, main, plural, bytes, date, name, ps, status, query, say, settle, toast } from './page.js';
import { Chart } from './chart.js';
import { Curves } from './curves.js';
import { showPlane } from './plane.js';
import { Heat, fromBins } from './heat.js';
import { showTables, showFigures, showInner } from './tables.js';
import { showLive } from './live.js';

// panels are the parts of the page below the curves, in order. Each gets the run, its id, its summary, and whether its numbers are curves, and returns elements.
const panels = [
  ({ run, s }) => histograms(run, s),
  ({ run, id, plain }) => showTables(run, id, !plain && !run.sweep),
  ({ run, id, plain }) => showFigures(run, id, !plain),
  ({ run }) => [h('details', { class: 'table', id: 'settings' }, h('summary', {}, 'All settings'), settings(run))],
  ({ run, id }) => [h('details', { class: 'table', id: 'files' }, h('summary', {}, plural(run.files.length, 'file')), files(run, id))],
];

export async function showRun(params) {
  const id = params.get('id') || '', of = [['id', id]];
  document.title = name(id) + ' – bregman';
  const run = await get('/api/run' + query(of));
  const s = run.summary;
  const plain = s.command === 'fit' || s.command === 'train'; // their numbers are curves; of others the tables say most
  const scaled = s.command === 'fit' && run.result && /^accelerated/.test(run.result.method) && run.result.margin > 0;
  const state = h('span', { id: 'state' }, status(s.status));
  const numbers = h('dl', { class: 'numbers' });
  const charts = h('div', {}), legend = h('div', { class: 'legend', hidden: true }), note = h('p', { class: 'note', hidden: true }), weights = h('div', {}), results = h('div', {}), inner = h('div', {}, ...showInner(run)), sweep = h('div', {}, ...showSweep(run));
  const [top, live] = showLive(run, id);
  main().replaceChildren(...[
    head(run, id, state), top,
    ...(s.error && !run.ended ? [h('p', { class: 'note bad' }, s.error)] : []), ...run.trouble.map(t => h('p', { class: 'note' }, t)), note,
    lead(run.lead), sweep,
    numbers, scaled ? h('p', { class: 'soft small', id: 'of' }, 'Of the model: the weights at margin 1. The curves are of the weights as they grew.') : null, run.paper ? h('p', { class: 'soft small' }, run.paper) : null,
    h('div', { class: 'row downloads' }, run.files.some(f => f.name === 'report.html') ? h('a', { class: 'button', href: '/file' + query([...of, ['name', 'report.html']]) }, 'Report') : h('a', { class: 'button', href: '/api/report' + query([['run', id]]) }, 'Report'),
      h('span', { class: 'soft small' }, 'Download: ', h('a', { id: 'csv', href: '/api/export' + query([...of, ['to', 'csv']]), download: '' }, 'CSV'), ' ', h('a', { href: '/api/export' + query([...of, ['to', 'npz']]), download: '' }, 'npz'), ' ', h('a', { href: '/api/report' + query([['run', id], ['download', '1']]), download: '' }, 'page'))),
    live, inner, legend, charts, weights, results,
    ...panels.flatMap(panel => panel({ run, id, s, plain }))].filter(Boolean));

  const view = new Curves(id, charts, legend, note, numbers, s, run.result, run.sweep || run.files.some(f => f.name.endsWith('.md')) ? null : results);
  await view.load();
  performance.mark('painted');
  if (run.replay) showWeights(id, s, weights, view).catch(err => weights.append(h('p', { class: 'note' }, err.message)));
  if (!plain && s.status === 'running') setInterval(async () => { // what is inside stands elsewhere now
    if (document.hidden || inner.contains(document.activeElement) || sweep.contains(document.activeElement)) return;
    const now = await get('/api/run' + query(of));
    inner.replaceChildren(...showInner(now));
    sweep.replaceChildren(...showSweep(now));
  }, 5000);
  view.follow(now => { state.replaceChildren(status(now)); say(`${name(id)}: ${now}`); });
}

// head is what a run is: its title, settings that were chosen, and what people say of it. With --allow-run all of that can be changed here.
function head(run, id, state) {
  const s = run.summary, box = h('div', { id: 'head' });
  const most = 12, chips = (run.chips || []).map(c => h('span', { class: 'chip' }, h('span', { class: 'soft' }, c.key.replaceAll('_', ' ') + ' '), c.text));
  const from = s.from ? h('span', { class: 'chip' }, h('span', { class: 'soft' }, 'from '), h('a', { href: '/run' + query([['id', s.from]]) }, name(s.from))) : null;
  const title = s.name || s.label || s.title;
  const whole = s.inside ? h('p', { class: 'soft small' }, 'Part of ', h('a', { href: '/run' + query([['id', s.inside]]) }, name(s.inside))) : null;
  const show = () => {
    document.title = title + ' – bregman';
    box.replaceChildren(...[whole, h('h1', {}, title), h('p', { class: 'soft small id' }, h('code', {}, id), s.started ? ` started ${date(s.started)}` : '', s.archived ? ', archived' : ''),
      h('div', { class: 'row chips' }, state, s.p && s.p.length ? h('span', { class: 'chip' }, s.p.length === 1 ? h('span', { class: 'dot', color: s.color }) : null, `p = ${ps(s.p)}`) : null, from, ...chips.slice(0, most), chips.length > most ? h('a', { href: '#settings', class: 'small', onclick: () => { document.getElementById('settings').open = true; } }, `${chips.length - most} more`) : null, ...(s.tags || []).map(t => h('span', { class: 'tag' }, t))),
      s.note ? h('p', { class: 'said', id: 'note' }, s.note) : null, run.allow_run ? tools() : null].filter(Boolean));
  };
  const tools = () => h('div', { class: 'row' }, h('button', { class: 'plain', id: 'edit', onclick: edit }, 'Name, tags, note'), h('button', { class: 'plain', id: 'archive', onclick: () => change({ archived: !s.archived }) }, s.archived ? 'Unarchive' : 'Archive'),
    ['fit', 'margin', 'train'].includes(s.command) ? h('a', { class: 'plain', id: 'again', href: '/start' + query([['from', id]]) }, 'Start again with changes') : null,
    s.inside || s.status === 'running' ? null : h('button', { class: 'plain', id: 'delete', onclick: remove }, 'Delete'));

  async function change(what) {
    await post('/api/about', { runs: [id], ...what }).then(() => location.reload(), err => toast(err.message));
  }

  async function remove() {
    try {
      const a = await post('/api/delete', { runs: [id] });
      sessionStorage.setItem('trashed', a.trash[0]);
      location.href = '/';
    } catch (err) { toast(err.message); }
  }

  function edit() {
    const nameBox = h('input', { type: 'text', id: 'run-name', value: s.name || '', placeholder: s.title, maxlength: 100 }), tags = h('input', { type: 'text', id: 'run-tags', value: (s.tags || []).join(' '), placeholder: 'paper draft' }), text = h('textarea', { id: 'run-note', rows: 3, maxlength: 10000 }, s.note || '');
    const field = (id, label, el) => h('div', {}, h('label', { for: id }, label), el);
    const form = h('form', { class: 'settings about', onsubmit: e => {
      e.preventDefault();
      const now = tags.value.split(/[\s,]+/).filter(Boolean), old = s.tags || [];
      change({ name: nameBox.value, note: text.value, add: now.filter(t => !old.includes(t)), remove: old.filter(t => !now.includes(t)) });
    } }, field('run-name', 'Name', nameBox), field('run-tags', 'Tags', tags), h('div', { class: 'full' }, h('label', { for: 'run-note' }, 'Note'), text), h('div', { class: 'row full' }, h('button', { class: 'main', type: 'submit', id: 'save' }, 'Save'), h('button', { type: 'button', onclick: show }, 'Cancel')));
    box.append(form);
    box.querySelector('#edit').closest('.row').hidden = true;
    nameBox.focus();
  }
  show();
  return box;
}

// lead is the result in a sentence, with what is and is not certain.
function lead(l) {
  if (!l) return null;
  return h('section', { class: 'lead', 'aria-label': 'Result' }, h('p', {}, l.sentence), l.claims && l.claims.length ? h('ul', {}, l.claims.map(c => h('li', {}, c))) : null);
}

const shownVariants = 60;

// showSweep is what a sweep found: the answer, then its combinations, the best first.
function showSweep(run) {
  const a = run.sweep;
  if (!a) return [];
  const order = a.cells.filter(c => c.n || c.diverged).sort((x, y) => (x.mean === null) - (y.mean === null) || (a.low ? x.mean - y.mean : y.mean - x.mean));
  const planned = a.done < a.planned ? h('p', { class: 'wait' }, h('progress', { max: a.planned, value: a.done, 'aria-label': 'Runs that are done' }), ` ${a.done} of ${a.planned} runs done`) : null;
  const table = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Combinations' }, h('table', { id: 'variants' }, h('thead', {}, h('tr', {}, a.keys.map(k => h('th', { scope: 'col' }, k.replaceAll('_', ' '))), h('th', { scope: 'col', class: 'n' }, a.title), h('th', { scope: 'col', class: 'n' }, 'n'), h('th', { scope: 'col' }, ''))),
    h('tbody', {}, order.slice(0, shownVariants).map(c => h('tr', {}, a.keys.map(k => h('td', {}, k === 'p' && c.settings.p ? h('span', { class: 'dot', color: c.color }) : null, c.settings[k] || '–')), h('td', { class: 'n' }, c.best ? h('strong', {}, c.text) : c.text || '–', c.diverged ? ` (${c.diverged} diverged)` : ''), h('td', { class: 'n' }, c.n + (c.n < c.planned ? ` of ${c.planned}` : '')),
      h('td', {}, c.runs.length ? h('a', { href: (c.runs.length > 1 ? '/compare' : '/run') + query(c.runs.map(r => [c.runs.length > 1 ? 'run' : 'id', r])), 'aria-label': 'Curves of ' + settle(c.settings) }, 'curves') : ''))))));
  const [first] = order, words = first && first.text ? [h('h2', {}, 'By what varies'), table, order.length > shownVariants ? h('p', { class: 'soft small' }, `The best ${shownVariants} of ${order.length}; the table of the report has all.`) : null, a.line ? h('p', { class: 'soft small' }, a.line) : null] : [];
  return [planned, lead(a.lead), ...words].filter(Boolean);
}

async function showWeights(id, s, box, view) {
  const a = await get('/api/weights' + query([['id', id]]));
  if (a.note) box.append(h('p', { class: 'soft small' }, 'The trajectory of the weights cannot be recomputed: ' + a.note));
  if (a.w) box.append(...showPlane(a, s.color));
  else if (a.heat) { const heat = new Heat('Sizes of the weights over time', s.color); heat.card.classList.add('wide'); heat.set(fromBins(a.heat)); view.part('Geometry').prepend(heat.card); }
  for (const [m, title, y] of [['divergence', 'Divergence to the max margin', 'D(u, w/‖w‖)'], ['angle', 'Angle to the max margin', 'radians']]) {
    if (view.charts.has(m) || !a[m] || !a[m].some(v => v !== null)) continue;
    const c = new Chart({ title, x: 'step', y, logX: true, logY: true });
    view.part('Geometry').append(c.card);
    c.set([{ name: '', color: s.color, x: a.step, y: a[m] }]);
  }
}

// histograms shows the sizes of a network's weights after training.
function histograms(run, s) {
  if (!run.histograms || !Object.values(run.histograms).every(v => v.limit > 0 && v.share && v.share.length)) return [];
  const charts = [['sizes', 'Sizes of the weights after training', '|w|', '% of the weights', false], ['scaled', 'Sizes over the RMS of their layer', '|w| / RMS', 'density', true]].map(([key, title, x, y, log]) => {
    const hist = run.histograms[key], n = hist.share.length, width = hist.limit / n, c = new Chart({ title, x, y, logY: log }), xs = [], ys = [];
    hist.share.forEach((v, k) => { xs.push(k * width, (k + 1) * width); const d = key === 'sizes' ? 100 * v : v / width; ys.push(d, d); });
    c.set([{ name: '', color: s.color, x: xs, y: ys }]);
    return c.card;
  });
  return [h('h2', {}, 'The weights'), h('div', { class: 'charts' }, charts)];
}

// words writes a setting as a person would.
function words(v) {
  if (Array.isArray(v)) return v.map(words).join(', ');
  if (v && typeof v === 'object') return Object.entries(v).map(([k, e]) => `${k} = ${words(e)}`).join('; ') || '–';
  return v === null || v === '' ? '–' : String(v);
}

function settings(run) {
  if (!run.info) return h('p', { class: 'soft' }, 'run.json cannot be read.');
  const rows = Object.entries(run.info.settings || {}).map(([k, v]) => [k, words(v)]);
  const m = run.info.machine || {};
  rows.push(['version', run.info.version], ['engine used', run.info.engine], ['machine', `${m.host}, ${plural(m.cpus, 'core')}, ${m.os}/${m.arch}`], ['data hash', run.info.data_hash || '–']);
  return h('div', { class: 'scroll' }, h('table', { class: 'kv' }, h('tbody', {}, rows.map(([k, v]) => h('tr', {}, h('th', { scope: 'row' }, k), h('td', {}, v))))));
}

function files(run, id) {
  return h('ul', { class: 'files' }, run.files.map(f => h('li', {}, h('a', { href: '/file' + query([['id', id], ['name', f.name]]) }, f.name), h('span', { class: 'soft small' }, ' ' + bytes(f.size)))));
}
