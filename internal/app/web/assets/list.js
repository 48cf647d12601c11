// The list of runs: filter, sort, choose, compare.
import { h, get, main, num, percent, plural, time, date, name, ps, status, query, say } from './page.js';

const columns = [
  ['run', r => r.name || name(r.id), 'name'], ['command', r => r.command, 'wide said'], ['data', r => r.data, 'wide'], ['p', r => r.p && r.p[0]], ['status', r => r.status],
  ['loss', r => r.loss, 'n wide'], ['accuracy', r => r.accuracy, 'n'], ['margin', r => r.margin, 'n wide margin'], ['gap', r => r.gap, 'n wide gap'],
  ['started', r => r.started || '', 'wide'], ['time', r => r.seconds, 'n wide'],
];
const firstRows = 200;

// stamped sets the time that begins a name apart: a narrow screen leaves it out.
function stamped(text) {
  const m = /^\d{8}-\d{6}-(?=.)/.exec(text);
  return m ? [h('span', { class: 'stamp' }, m[0]), text.slice(m[0].length)] : [text];
}

export async function showList(params) {
  document.title = 'Runs – bregman';
  let runs = [], all = false;
  const chosen = new Set();
  const state = { q: params.get('q') || '', status: params.get('status') || '', sort: params.get('sort') || '-started', inner: params.get('inner') || '' };

  const filter = h('input', { type: 'search', id: 'filter', class: 'grow', placeholder: 'Filter: words, p=3, data, network …', 'aria-label': 'Filter runs', value: state.q, oninput: () => { state.q = filter.value; keep(); draw(); } });
  const which = h('select', { id: 'status', 'aria-label': 'Status', onchange: () => { state.status = which.value; keep(); draw(); } },
    ['', 'running', 'done', 'failed', 'interrupted', 'killed', 'corrupt'].map(s => h('option', { value: s, selected: s === state.status }, s || 'any status')));
  const compare = h('button', { class: 'main', id: 'compare', disabled: true, onclick: () => { location.href = '/compare' + query([...chosen].map(id => ['run', id])); } }, 'Compare');
  const inner = h('input', { type: 'checkbox', id: 'inner', checked: params.get('inner') === '1', onchange: () => { state.inner = inner.checked ? '1' : ''; keep(); draw(); } });
  const innerLabel = h('label', { hidden: true }, inner, ' ', h('span', {}));
  const count = h('p', { class: 'soft small', role: 'status', id: 'count' });
  const head = h('tr', {});
  const body = h('tbody', {});
  const more = h('button', { hidden: true, onclick: () => { all = true; draw(); } });
  main().replaceChildren(h('h1', {}, 'Runs'), h('div', { class: 'row' }, filter, which, innerLabel, compare), count,
    h('div', { class: 'scroll' }, h('table', { class: 'runs' }, h('thead', {}, head), body)), more);

  function keep() {
    const p = new URLSearchParams();
    for (const [k, v] of Object.entries(state)) if (v && !(k === 'sort' && v === '-started')) p.set(k, v);
    history.replaceState(null, '', p.size ? '/?' + p : '/');
  }

  // matches reports whether a run is shown. Runs inside others are shown only if a word or the box asks for them.
  function matches(r) {
    if (r.inside && !state.inner && !state.q && !state.status) return false;
    if (state.status && r.status !== state.status) return false;
    const text = `${r.id} ${r.name || ''} ${(r.tags || []).map(t => 'tag:' + t).join(' ')} ${r.note || ''} ${r.command} ${r.data} ${r.model || ''} ${r.status} ${(r.p || []).map(p => 'p=' + p).join(' ')} seed=${r.seed} ${r.error || ''}`.toLowerCase();
    return state.q.toLowerCase().split(/\s+/).every(word => {
      if (/^p=[\d.]+$/.test(word)) return (r.p || []).some(p => 'p=' + p === word);
      return text.includes(word);
    });
  }

  function draw() {
    const down = state.sort.startsWith('-'), by = state.sort.replace('-', '');
    head.replaceChildren(h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Choose')), ...columns.map(([title, , c]) =>
      h('th', { scope: 'col', class: c, 'aria-sort': by === title ? (down ? 'descending' : 'ascending') : null },
        h('button', { 'data-sort': title, onclick: () => { state.sort = (by === title && !down ? '-' : '') + title; keep(); draw(); head.querySelector(`[data-sort=${title}]`).focus(); } }, title + (by === title ? (down ? ' ↓' : ' ↑') : '')))));
    const of = (columns.find(c => c[0] === by) || columns[9])[1];
    const shown = runs.filter(matches).sort((a, b) => {
      const x = of(a), y = of(b), empty = v => v === null || v === undefined || v === '';
      if (empty(x) || empty(y)) return empty(x) - empty(y);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    const some = all ? shown : shown.slice(0, firstRows);
    body.replaceChildren(...some.map(row));
    for (const key of ['margin', 'gap']) body.parentElement.classList.toggle('no-' + key, shown.every(r => r[key] === null)); // a column of dashes says nothing
    if (!runs.length) body.replaceChildren(h('tr', {}, h('td', { colspan: 12, class: 'soft' }, 'No runs yet. Try: bregman fit --data r2 --p 3 --steps 1e6 --lr 1e-4')));
    more.hidden = some.length === shown.length;
    more.textContent = `Show all ${shown.length}`;
    const inside = runs.filter(r => r.inside).length, live = runs.filter(r => r.status === 'running').length;
    innerLabel.hidden = !inside;
    innerLabel.lastChild.textContent = `${inside} inside others`;
    count.textContent = `${shown.length} of ${plural(runs.length, 'run')}` + (live ? `, ${live} running` : '');
    choose();
  }

  function row(r) {
    const box = h('input', { type: 'checkbox', 'aria-label': 'Choose ' + name(r.id), onchange: () => { box.checked ? chosen.add(r.id) : chosen.delete(r.id); choose(); } });
    box.checked = chosen.has(r.id);
    const running = r.status === 'running' && r.progress !== null;
    return h('tr', {}, h('td', {}, box),
      h('th', { scope: 'row', class: 'name' }, r.inside ? h('span', { class: 'soft' }, name(r.inside).replace(/^\d{8}-\d{6}-(?=.)/, '') + ' › ') : null, h('a', { href: '/run' + query([['id', r.id]]), title: r.id }, ...(r.name ? [r.name] : stamped(name(r.id) === 'run' ? name(r.id.slice(0, -4)) : name(r.id)))),
        (r.tags || []).map(t => h('span', { class: 'tag' }, t))),
      h('td', { class: 'wide said' }, r.command || '–'), h('td', { class: 'wide data', title: r.data || null }, (r.model ? r.model + ' on ' : '') + (r.data || '–')),
      h('td', {}, r.p && r.p.length === 1 ? h('span', { class: 'dot', color: r.color }) : null, ps(r.p)),
      h('td', { title: r.error || null }, status(r.status), running ? h('progress', { max: 1, value: r.progress, 'aria-label': 'Progress' }) : null),
      h('td', { class: 'n wide' }, num(r.loss)), h('td', { class: 'n' }, percent(r.accuracy)), h('td', { class: 'n wide margin' }, num(r.margin)), h('td', { class: 'n wide gap' }, num(r.gap)),
      h('td', { class: 'wide' }, date(r.started)), h('td', { class: 'n wide' }, time(r.seconds)));
  }

  function choose() {
    compare.disabled = chosen.size < 1;
    compare.textContent = chosen.size ? `Compare ${chosen.size}` : 'Compare';
  }

  let last = '';
  async function load() {
    const answer = await get('/api/runs');
    const text = JSON.stringify(answer.runs);
    if (text === last) return;
    last = text;
    runs = answer.runs;
    if (!document.activeElement || !body.contains(document.activeElement)) draw(); // do not take the focus away
  }
  await load();
  draw();
  performance.mark('painted');
  document.addEventListener('keydown', e => {
    if (e.key === '/' && document.activeElement !== filter) { e.preventDefault(); filter.focus(); }
  });
  setInterval(() => { if (!document.hidden) load().catch(() => say('The server does not answer')); }, 3000);
}
