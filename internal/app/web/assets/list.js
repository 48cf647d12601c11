// The list of runs: filter, sort, choose columns and runs; compare, tag, archive and delete them.
import { h, get, post, main, num, percent, plural, time, date, name, ps, status, query, say, settle, toast } from './page.js';
import { left } from './live.js';

// columns that every run may have: key, title, its text or element, class.
const own = [
  ['p', 'p', r => [r.p && r.p.length === 1 ? h('span', { class: 'dot', color: r.color }) : null, r.p && r.p.length ? ps(r.p) : ''], ''],
  ['status', 'status', r => [status(r.status), r.status === 'running' && r.progress !== null ? h('progress', { max: 1, value: r.progress, title: left(r), 'aria-label': 'Progress' }) : null], ''],
  ['loss', 'loss', r => r.loss === null ? '' : num(r.loss), 'n wide'],
  ['accuracy', 'accuracy', r => r.accuracy === null ? '' : percent(r.accuracy), 'n'],
  ['margin', 'margin', r => r.margin === null ? '' : num(r.margin), 'n wide'],
  ['gap', 'gap', r => r.gap === null ? '' : num(r.gap), 'n wide'],
  ['started', 'started', r => date(r.started), 'wide'],
  ['seconds', 'time', r => time(r.seconds), 'n wide'],
  ['command', 'command', r => r.command, 'wide', true],
  ['data', 'data', r => r.data, 'wide data', true],
];
const usual = own.filter(c => !c[4]).map(c => c[0]); // shown unless other columns were chosen
const ofSetting = k => own.some(o => o[0] === k) ? 'set.' + k : k; // a setting may be called as a result is: the loss
const titleOf = k => (own.find(o => o[0] === k) || [k, k.startsWith('set.') ? k.slice(4) + ' (setting)' : k.replaceAll('_', ' ')])[1];
const page = 200, most = 100; // rows at first; runs that a comparison may have

export async function showList(params) {
  document.title = 'Runs – bregman';
  const state = { q: params.get('q') || '', status: params.get('status') || '', sort: params.get('sort') || '-started', inside: params.get('inside') || params.get('inner') || '', archived: params.get('archived') || '', columns: params.get('columns') || '' };
  const chosen = new Map(); // id → title
  let answer = { runs: [], columns: [], keys: [], count: {} }, limit = page, last = '', latest = 0;

  const filter = h('input', { type: 'search', id: 'filter', class: 'grow', placeholder: 'Filter: words, p=3, lr>=0.1, tag:paper …', 'aria-label': 'Filter runs', value: state.q, oninput: () => { state.q = filter.value; limit = page; changed(); } });
  const which = h('select', { id: 'status', 'aria-label': 'Status', onchange: () => { state.status = which.value; changed(); } },
    ['', 'running', 'done', 'failed', 'interrupted', 'killed', 'corrupt'].map(s => h('option', { value: s, selected: s === state.status }, s || 'any status')));
  const box = (id, key) => { const b = h('input', { type: 'checkbox', id, checked: state[key] === '1', onchange: () => { state[key] = b.checked ? '1' : ''; changed(); } }), l = h('label', { hidden: true }, b, ' ', h('span', {})); return l; };
  const inside = box('inner', 'inside'), archived = box('archived', 'archived');
  const menu = h('div', { class: 'menu' }), columns = h('details', { class: 'choose', id: 'columns' }, h('summary', { class: 'button' }, 'Columns'), menu);
  const wrong = h('p', { class: 'note bad', role: 'alert', hidden: true });
  const count = h('p', { class: 'soft small', role: 'status', id: 'count' });
  const bar = h('div', { class: 'row bar', role: 'region', 'aria-label': 'Chosen runs', hidden: true });
  const allBox = h('input', { type: 'checkbox', id: 'all', 'data-all': '1', 'aria-label': 'Choose all runs of this list', onchange: () => { allBox.checked ? chooseAll() : (chosen.clear(), draw()); } });
  const head = h('tr', {}), body = h('tbody', {}), table = h('div', { class: 'scroll' }, h('table', { class: 'runs' }, h('thead', {}, head), body));
  const none = h('div', { class: 'empty', hidden: true });
  const more = h('button', { hidden: true, id: 'more', onclick: () => { limit += 1000; load(); } });
  main().replaceChildren(h('h1', {}, 'Runs'), h('div', { class: 'row' }, filter, which, inside, archived, columns), wrong, count, bar, table, none, more);
  document.addEventListener('click', e => { if (columns.open && !columns.contains(e.target)) columns.open = false; });
  document.addEventListener('keydown', e => { if (e.key === 'Escape') columns.open = false; });

  function keep() {
    const p = new URLSearchParams();
    for (const [k, v] of Object.entries(state)) if (v && !(k === 'sort' && v === '-started')) p.set(k, v);
    history.replaceState(null, '', p.size ? '/?' + p : '/');
  }

  let waiting = null;
  function changed() { keep(); clearTimeout(waiting); waiting = setTimeout(() => load(), 60); }

  const wants = () => state.columns ? state.columns.split(',') : null; // null: what the server finds useful
  function ask(extra = {}) {
    const words = [state.q, state.status && 'status=' + state.status].filter(Boolean).join(' ');
    const q = { q: words, sort: state.sort, limit, ...extra };
    if (state.inside || words) q.inside = 1; // a word may mean a run inside another
    if (state.archived) q.archived = 1;
    if (wants()) q.columns = wants().filter(c => !own.some(o => o[0] === c)).map(c => c.replace(/^set\./, '')).join(',');
    return get('/api/runs' + query(q));
  }

  async function load() {
    const mine = ++latest;
    let now;
    try { now = await ask(); } catch (err) {
      if (mine !== latest) return;
      wrong.hidden = false; wrong.textContent = err.message;
      return;
    }
    if (mine !== latest) return; // a newer question is on its way
    wrong.hidden = true;
    const text = JSON.stringify([now, state]);
    if (text === last) return;
    last = text; answer = now;
    draw();
  }

  // shown are the columns: those chosen, or the usual ones that some run fills.
  function shown() {
    const filled = c => answer.runs.some(r => { const v = r[c[0]]; return v !== null && v !== undefined && v !== '' && !(Array.isArray(v) && !v.length); });
    const setting = k => [ofSetting(k), titleOf(ofSetting(k)), r => r.cells && r.cells[k] || '', 'wide setting'];
    const all = wants();
    if (all) return all.map(k => own.find(o => o[0] === k) || setting(k.replace(/^set\./, ''))).map(c => [c[0], c[1], c[2], c[3].replace('wide', '')]); // chosen: also on a narrow screen
    const list = own.filter(c => usual.includes(c[0]) && filled(c)), at = list.findIndex(c => c[0] === 'p') + 1;
    list.splice(at, 0, ...answer.columns.slice(0, room()).map(setting));
    return list;
  }

  // room is how many columns of settings fit beside the usual ones.
  const room = () => innerWidth > 1300 ? 4 : innerWidth > 1100 ? 2 : 1;
  let drawn = room();
  addEventListener('resize', () => { if (room() !== drawn) draw(); });

  function choice(list) {
    const on = list.map(c => c[0]), names = [...new Set([...own.map(c => c[0]), ...answer.keys.map(ofSetting), ...on])];
    menu.replaceChildren(h('p', { class: 'soft small' }, 'Settings are listed if they differ between these runs.'), ...names.map(k => {
      const b = h('input', { type: 'checkbox', 'data-column': k, checked: on.includes(k), onchange: () => { state.columns = (b.checked ? [...on, k] : on.filter(o => o !== k)).join(','); changed(); } });
      return h('label', {}, b, ' ' + titleOf(k));
    }), h('button', { class: 'plain', id: 'usual', onclick: () => { state.columns = ''; changed(); } }, 'The usual ones'));
  }

  function draw() {
    drawn = room();
    const down = state.sort.startsWith('-'), by = state.sort.replace(/^-/, ''), list = shown(), focus = document.activeElement && document.activeElement.dataset ? { ...document.activeElement.dataset } : {};
    const header = ([key, title, , c]) => h('th', { scope: 'col', class: c, 'aria-sort': by === key ? (down ? 'descending' : 'ascending') : null },
      h('button', { 'data-sort': key, onclick: () => { state.sort = (by === key ? !down : ['accuracy', 'margin', 'started', 'seconds'].includes(key)) ? '-' + key : key; changed(); } }, title + (by === key ? (down ? ' ↓' : ' ↑') : '')));
    head.replaceChildren(h('th', { scope: 'col', class: 'pick' }, allBox), header(['run', 'run', null, 'name']), ...list.map(header));
    body.replaceChildren(...answer.runs.map(r => row(r, list)));
    chooseBox();
    if (!columns.open) choice(list);
    const { total = 0, matched = 0, running = 0 } = answer.count, asked = state.q || state.status;
    table.hidden = !answer.runs.length;
    none.hidden = answer.runs.length > 0;
    if (!answer.runs.length) none.replaceChildren(...nothing(total, asked));
    more.hidden = answer.runs.length >= matched;
    more.textContent = `Show ${Math.min(1000, matched - answer.runs.length).toLocaleString('en')} more of ${matched.toLocaleString('en')}`;
    label(inside, answer.count.inside, 'inside others');
    label(archived, answer.count.archived, 'archived');
    count.textContent = total ? `${matched.toLocaleString('en')} of ${total.toLocaleString('en')} run${total === 1 ? '' : 's'}` + (running ? `, ${running} running` : '') : '';
    choose();
    const again = focus.sort ? head.querySelector(`[data-sort="${CSS.escape(focus.sort)}"]`) : focus.id ? body.querySelector(`[data-id="${CSS.escape(focus.id)}"]`) : focus.all ? allBox : null;
    if (again) again.focus({ preventScroll: true });
  }

  function label(el, n, what) { el.hidden = !n; el.lastChild.textContent = `${(n || 0).toLocaleString('en')} ${what}`; }

  // nothing says why a list is empty, and what to do.
  function nothing(total, asked) {
    const code = text => h('p', {}, h('code', {}, text));
    if (!total) return [h('h2', {}, 'No runs yet'), h('p', {}, 'A run appears here as soon as it starts. For instance:'), code('bregman fit --data iris'), code('bregman train'), answer.allow_run ? h('p', {}, h('a', { href: '/start' }, 'Start one here')) : null].filter(Boolean);
    return [h('h2', {}, asked ? 'No run matches' : 'Nothing to list'), h('p', {}, asked ? 'All conditions have to hold. ' : 'All runs are archived, or inside others. ', asked ? h('button', { id: 'clear', onclick: () => { state.q = filter.value = ''; state.status = which.value = ''; changed(); } }, 'Clear the filter') : null)];
  }

  function row(r, list) {
    const title = r.name || r.label || r.title;
    const box = h('input', { type: 'checkbox', 'data-id': r.id, 'aria-label': 'Choose ' + title, onchange: () => { box.checked ? chosen.set(r.id, title) : chosen.delete(r.id); tr.classList.toggle('chosen', box.checked); chooseBox(); choose(); } });
    box.checked = chosen.has(r.id);
    const cell = c => { const v = c[2](r); return h('td', { class: c[3], title: c[0] === 'status' ? r.error || null : c[0] === 'data' || /setting/.test(c[3]) ? String(v) || null : null }, v); };
    const tr = h('tr', { class: box.checked ? 'chosen' : null }, h('td', { class: 'pick' }, box),
      h('th', { scope: 'row', class: 'name' }, h('a', { href: '/run' + query([['id', r.id]]), title: r.id }, title),
        r.inside ? h('span', { class: 'soft small' }, ' in ' + name(r.inside).replace(/^\d{8}-\d{6}-(?=.)/, '')) : null,
        (r.tags || []).map(t => h('span', { class: 'tag' }, t)), r.archived ? h('span', { class: 'tag' }, 'archived') : null,
        r.best ? h('div', { class: 'soft small best' }, `best: ${r.best.text}, ${settle(r.best.settings)}`) : null),
      list.map(cell));
    return tr;
  }

  // chooseBox sets the box that stands for all.
  function chooseBox() {
    const here = answer.runs.filter(r => chosen.has(r.id)).length;
    allBox.checked = here > 0 && here === answer.runs.length;
    allBox.indeterminate = here > 0 && !allBox.checked;
  }

  async function chooseAll() {
    const all = answer.runs.length < answer.count.matched ? (await ask({ ids: 1, limit: 0 })).ids : answer.runs.map(r => r.id);
    for (const id of all) chosen.set(id, name(id));
    draw();
  }

  function choose() {
    bar.hidden = !chosen.size;
    if (bar.hidden || bar.contains(document.activeElement) && document.activeElement.tagName === 'INPUT') return;
    const ids = [...chosen.keys()], few = ids.length <= most;
    const tag = h('input', { type: 'text', id: 'tag', placeholder: '+paper -draft', 'aria-label': 'Tags to add and to remove', size: 14, onkeydown: e => { if (e.key === 'Enter') retag(tag.value); } });
    bar.replaceChildren(h('strong', {}, `${ids.length.toLocaleString('en')} chosen`),
      h('button', { class: 'main', id: 'compare', disabled: !few, title: few ? null : `At most ${most} runs`, onclick: () => { location.href = '/compare' + query(ids.map(id => ['run', id])); } }, few ? 'Compare' : `Compare (at most ${most})`),
      ...(answer.allow_run ? [tag, h('button', { id: 'retag', onclick: () => retag(tag.value) }, 'Tag'),
        h('button', { id: 'archive', onclick: archive }, 'Archive'), h('button', { id: 'delete', onclick: remove }, 'Delete')] : []),
      h('button', { class: 'plain', id: 'unchoose', onclick: () => { chosen.clear(); draw(); } }, 'Choose none'));
  }

  // inParts sends a request for some hundred runs at a time, and joins the answers.
  async function inParts(url, ids, body) {
    const out = { done: [], trash: [], failed: [] };
    for (let k = 0; k < ids.length; k += 400) {
      try {
        const a = await post(url, body(ids.slice(k, k + 400)));
        for (const key of Object.keys(out)) out[key].push(...(a[key] || []));
      } catch (err) { out.failed.push(err.message); }
    }
    return out;
  }

  async function finish(out, what, undo) {
    chosen.clear();
    await load();
    draw();
    toast(`${plural(out.done.length, 'run')} ${what}` + (out.failed.length ? `; ${out.failed.length} not: ${out.failed[0]}` : ''), out.done.length ? undo : null);
  }

  async function retag(text) {
    const words = text.split(/[\s,]+/).filter(Boolean), remove = words.filter(w => w.startsWith('-')).map(w => w.slice(1)), add = words.filter(w => !w.startsWith('-')).map(w => w.replace(/^\+/, ''));
    if (!words.length) return;
    const out = await inParts('/api/about', [...chosen.keys()], runs => ({ runs, add, remove }));
    document.activeElement.blur();
    await finish(out, 'tagged', () => inParts('/api/about', out.done, runs => ({ runs, add: remove, remove: add })).then(load));
  }

  async function archive() {
    const out = await inParts('/api/about', [...chosen.keys()], runs => ({ runs, archived: true }));
    await finish(out, 'archived', () => inParts('/api/about', out.done, runs => ({ runs, archived: false })).then(load));
  }

  async function remove() {
    const out = await inParts('/api/delete', [...chosen.keys()], runs => ({ runs }));
    await finish(out, 'moved to the trash', () => inParts('/api/restore', out.trash, trash => ({ trash })).then(load));
  }

  await load();
  if (!wrong.hidden) draw();
  performance.mark('painted');
  const trashed = sessionStorage.getItem('trashed'); // by the page of a run
  if (trashed) { sessionStorage.removeItem('trashed'); toast('1 run moved to the trash', () => post('/api/restore', { trash: [trashed] }).then(load)); }
  document.addEventListener('keydown', e => {
    if (e.key === '/' && !['INPUT', 'TEXTAREA', 'SELECT'].includes(document.activeElement.tagName)) { e.preventDefault(); filter.focus(); }
  });
  setInterval(() => { if (!document.hidden) load().catch(() => say('The server does not answer')); }, 3000);
}
