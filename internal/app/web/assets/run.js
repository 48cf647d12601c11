// A run's page: curves that grow while it runs, the trajectory of its weights, its settings and files.
import { h, get, parse, main, num, percent, plural, time, bytes, date, name, ps, status, query, say } from './page.js';
import { Chart, dashes, sample as line } from './chart.js';
import { showPlane } from './plane.js';
import { Heat, fromSizes, fromBins } from './heat.js';
import { showTables, showFigures, showInner, showResults } from './tables.js';

const axis = { step: 'step', epoch: 'epoch', b: 'radius B of the ball', line: 'line' };
const sample = 800, refetch = 4000; // points a curve gets from the server, and may have before it is asked again

// panels are the parts of the page below the curves, in order. Each gets the run, its id, its summary, and whether its numbers are curves, and returns elements.
const panels = [
  ({ run, s }) => histograms(run, s),
  ({ run, id, plain }) => showTables(run, id, !plain),
  ({ run, id, plain }) => showFigures(run, id, !plain),
  ({ run }) => [h('h2', {}, 'Settings'), settings(run)],
  ({ run, id }) => [h('h2', {}, 'Files'), files(run, id)],
];

export async function showRun(params) {
  const id = params.get('id') || '', of = [['id', id]];
  document.title = name(id) + ' – bregman';
  const run = await get('/api/run' + query(of));
  const s = run.summary;
  if (s.name) document.title = s.name + ' – bregman';
  const plain = s.command === 'fit' || s.command === 'train'; // their numbers are curves; of others the tables say most
  const scaled = s.command === 'fit' && run.result && /^accelerated/.test(run.result.method) && run.result.margin > 0;
  const state = h('span', { id: 'state' }, status(s.status));
  const numbers = h('dl', { class: 'numbers' });
  const charts = h('div', {}), legend = h('div', { class: 'legend', hidden: true }), note = h('p', { class: 'note', hidden: true }), weights = h('div', {}), results = h('div', {}), inner = h('div', {}, ...showInner(run));
  main().replaceChildren(...[
    h('h1', {}, s.name || name(id)), s.name ? h('p', { class: 'soft small' }, name(id)) : null,
    h('div', { class: 'row' }, state, h('span', { class: 'soft' }, [s.command || '–', s.data ? (s.model ? s.model + ' on ' : '') + s.data : null].filter(Boolean).join(' · ') + ' · ', s.p && s.p.length ? [s.p.length === 1 ? h('span', { class: 'dot', color: s.color }) : null, `p = ${ps(s.p)} · `] : [], `started ${date(s.started)}`), ...(s.tags || []).map(t => h('span', { class: 'tag' }, t))),
    s.note ? h('p', { class: 'said', id: 'note' }, s.note) : null,
    ...(s.error ? [h('p', { class: 'note bad' }, s.error)] : []), ...run.trouble.map(t => h('p', { class: 'note' }, t)), note,
    numbers, scaled ? h('p', { class: 'soft small', id: 'of' }, 'Of the model: the weights at margin 1. The curves are of the weights as they grew.') : null, run.paper ? h('p', { class: 'soft small' }, run.paper) : null,
    h('div', { class: 'row' }, h('a', { class: 'button', id: 'csv', href: '/api/export' + query([...of, ['to', 'csv']]), download: '' }, 'CSV'), h('a', { class: 'button', href: '/api/export' + query([...of, ['to', 'npz']]), download: '' }, 'npz'),
      h('a', { class: 'button', href: '/api/report' + query([['run', id], ['download', '1']]), download: '' }, 'Report'),
      run.files.some(f => f.name === 'report.html') ? h('a', { class: 'button', href: '/file' + query([...of, ['name', 'report.html']]) }, 'The run’s report') : null),
    inner, legend, charts, weights, results,
    ...panels.flatMap(panel => panel({ run, id, s, plain }))].filter(Boolean));

  const view = new Curves(id, charts, legend, note, numbers, s, run.result, run.files.some(f => f.name.endsWith('.md')) ? null : results);
  await view.load();
  performance.mark('painted');
  if (run.replay) showWeights(id, s, weights, view).catch(err => weights.append(h('p', { class: 'note' }, err.message)));
  if (!plain && s.status === 'running') setInterval(async () => { // what is inside stands elsewhere now
    if (!document.hidden && !inner.contains(document.activeElement)) inner.replaceChildren(...showInner(await get('/api/run' + query(of))));
  }, 5000);
  view.follow(now => { state.replaceChildren(status(now)); say(`${name(id)}: ${now}`); });
}

// Curves holds the charts of a run and adds what the server streams.
class Curves {
  constructor(id, box, legend, note, numbers, s, result, results) { Object.assign(this, { id, box, legend, note, numbers, s, result, results, charts: new Map(), parts: new Map(), heats: new Map(), curves: [], begin: performance.now() }); }

  async load() {
    const a = await get('/api/metrics' + query([['id', this.id], ['points', sample]]));
    this.offset = a.offset; this.curves = a.curves; this.metrics = a.metrics; this.rows = a.rows;
    this.note.hidden = !a.note; this.note.textContent = a.note;
    if (this.results) this.results.replaceChildren(...showResults(a));
    this.draw();
  }

  // part is the grid of charts under a heading; they stand in this order. Few charts need one heading only.
  part(title) {
    if (!this.parts.size) for (const t of this.metrics.length > 8 ? ['Learning', 'Geometry', 'Rate and speed'] : ['Curves']) {
      const box = h('div', { hidden: true }, h('h2', {}, t), h('div', { class: 'charts' }));
      this.parts.set(t, box);
      this.box.append(box);
    }
    const box = this.parts.get(title) || this.parts.values().next().value;
    box.hidden = false;
    return box.lastChild;
  }

  // drawHeat shows how the weights of each curve are spread over time.
  drawHeat() {
    for (const c of this.curves) {
      if (!c.sizes || !c.sizes.length) continue;
      if (!this.heats.has(c.curve)) {
        const heat = new Heat('Sizes of the weights over time' + (c.name ? ', ' + c.name : ''), c.color);
        heat.card.classList.add('wide');
        this.heats.set(c.curve, heat);
        this.part('Geometry').prepend(heat.card);
      }
      this.heats.get(c.curve).set(fromSizes(c.sizes, axis[c.x] || c.x));
    }
  }

  draw() {
    const dash = dashes(this.curves.map(c => c.color));
    for (const m of this.metrics) {
      if (!this.charts.has(m.name)) {
        const x = (this.curves.find(c => c.metrics[m.name]) || {}).x || 'line';
        const to = t => h('a', { class: 'plain', href: '/api/figure' + query([['run', this.id], ['metric', m.name], ['to', t]]), download: '', 'aria-label': `${m.title} as ${t}` }, t);
        const chart = new Chart({ title: m.title, x: axis[x] || x, y: m.y, logX: x === 'step' || x === 'b', logY: m.log, links: [to('svg'), to('png')] });
        this.charts.set(m.name, chart);
        this.part(m.part).append(chart.card);
      }
      this.charts.get(m.name).set(this.curves.filter(c => c.metrics[m.name]).map(c => ({ name: c.name, color: c.color, dash: dash[this.curves.indexOf(c)], x: c.metrics[m.name].x, y: c.metrics[m.name].y.map(v => v === null ? null : v * m.scale) })));
    }
    const several = this.curves.length > 1 && this.curves.length <= 12;
    this.legend.hidden = !several;
    if (several) this.legend.replaceChildren(...this.curves.map((c, k) => h('span', {}, line(c.color, dash[k]), ' ' + c.name)));
    if (!this.metrics.length && !this.box.firstChild && this.s.status === 'running') this.box.append(h('p', { class: 'soft', id: 'none' }, 'No metrics yet.'));
    else if (this.metrics.length) { const none = document.getElementById('none'); if (none) none.remove(); }
    this.drawHeat();
    this.last();
  }

  // last shows the newest numbers, large: those of the model that a fit wrote, or of the end of a curve. The two are not of the same weights, as a fit may scale its model to margin 1.
  last() {
    const withLoss = this.curves.filter(c => c.metrics.loss), main = withLoss.length ? withLoss : this.curves; // layers have none
    const c = main[main.length - 1], several = main.length > 1, fit = this.s.command === 'fit' && this.result, items = [];
    const q = fit && (fit.test || fit.held_out), of = fit && fit.test ? 'test ' : 'held-out ';
    if (q) { // as the program prints them
      for (const [k, title, write] of [['accuracy', 'accuracy', percent], ['auc', 'AUC', num], ['log_loss', 'log-loss', num]]) if (q.classes && typeof q.classes[k] === 'number') items.push([of + title, write(q.classes[k])]);
      for (const [k, title] of [['r2', 'R²'], ['rmse', 'RMSE']]) if (q.targets) items.push([of + title, num(q.targets[k])]);
      if (typeof fit.train_accuracy === 'number') items.push(['training accuracy', percent(fit.train_accuracy)]);
      if (typeof fit.penalty === 'number') items.push(['penalty', num(fit.penalty)]);
    }
    if (fit || several && this.s.status === 'done') // of all curves together, as in the list
      for (const [key, title, write] of [['loss', 'loss', num], ...(q ? [] : [['accuracy', 'accuracy', percent]]), ['margin', 'margin', num], ['gap', 'certified gap', num]]) if (this.s[key] !== null) items.push([title, write(this.s[key])]);
    if (fit && typeof fit.norm === 'number') items.push(['p-norm at margin 1', num(fit.norm)]);
    if (fit && typeof fit.steps === 'number') items.unshift(['steps', num(fit.steps)]);
    if (c && !items.length) {
      if (several) items.push(['the last curve', c.name]);
      const xs = Object.values(c.metrics)[0];
      if (xs && xs.x.length) items.push([axis[c.x] || c.x, num(xs.x[xs.x.length - 1])]);
      for (const m of this.metrics.slice(0, 8)) {
        const y = c.metrics[m.name] && c.metrics[m.name].y, k = y ? y.findLastIndex(v => v !== null) : -1;
        if (k >= 0) items.push([m.title, m.scale === 100 ? percent(y[k]) : num(y[k])]);
      }
    }
    const since = this.s.status === 'running' ? (performance.now() - this.begin) / 1000 : 0;
    if (this.s.seconds !== null) items.push(['time', time(this.s.seconds + since)]);
    this.numbers.replaceChildren(...items.map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))));
  }

  // follow adds what is appended, from where the last answer ended. A browser has six connections to a server, so only a page that is seen holds one, and none
  // that shows a run which has ended.
  follow(onStatus) {
    if (['done', 'failed', 'corrupt'].includes(this.s.status)) return;
    let known = this.s.status, source = null;
    const close = () => { if (source) source.close(); source = null; };
    const open = () => {
      if (source || document.hidden) return;
      source = new EventSource('/api/stream' + query([['id', this.id], ['from', this.offset]]));
      source.addEventListener('rows', e => { this.offset = e.lastEventId; this.add(parse(e.data)); });
      source.addEventListener('reset', () => this.load().catch(() => {}));
      source.addEventListener('status', e => {
        const now = JSON.parse(e.data).status;
        if (now === known) return;
        known = now;
        onStatus(now);
        if (now !== 'running') setTimeout(() => location.reload(), 1500); // results and files are there now
      });
    };
    document.addEventListener('visibilitychange', () => document.hidden ? close() : open());
    addEventListener('pagehide', close);
    addEventListener('pageshow', open);
    open();
  }

  add(event) {
    let fresh = false, most = 0;
    for (const c of event.curves) {
      const mine = this.curves.find(k => k.curve === c.curve);
      if (!mine || c.x === 'line') { fresh = true; continue; } // a curve or a result that is new
      if (c.sizes) {
        const last = mine.sizes && mine.sizes.length ? mine.sizes[mine.sizes.length - 1].at : -Infinity;
        mine.sizes = (mine.sizes || []).concat(c.sizes.filter(s => s.at > last));
        if (mine.sizes.length > 400) fresh = true;
      }
      const x = c.values[c.x];
      for (const [m, y] of Object.entries(c.values)) {
        if (m === c.x) continue;
        if (!this.metrics.some(k => k.name === m)) fresh = true;
        const to = mine.metrics[m] = mine.metrics[m] || { x: [], y: [] };
        const last = to.x.length ? to.x[to.x.length - 1] : -Infinity; // an answer of the server may have been ahead of the stream
        x.forEach((v, k) => { if (v > last) { to.x.push(v); to.y.push(y[k]); } });
        most = Math.max(most, to.x.length);
      }
    }
    if (fresh || most > refetch) { // a metric that is new, or so many points that the server should thin them
      if (!this.soon) this.soon = setTimeout(() => { this.soon = null; this.load().catch(() => {}); }, this.curves.length ? 100 : 1000); // lines that come often must not put it off
      return;
    }
    this.draw();
  }
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
