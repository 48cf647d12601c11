// A run's tables and figures as it wrote them, and the runs inside it.
import { h, num, percent, time, name, ps, status, query } from './page.js';

const cells = line => line.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(c => c.trim().replaceAll('\\|', '|'));
const small = 4000; // bytes of a table that is open at once

// fromMarkdown reads a table as report writes it: a title, rows between bars, a note.
function fromMarkdown(text) {
  const lines = text.split('\n'), rows = lines.filter(l => l.startsWith('|')), last = lines.findLastIndex(l => l.startsWith('|'));
  if (rows.length < 2) return null;
  return { title: lines[0].startsWith('**') ? lines[0].replaceAll('**', '') : '', head: cells(rows[0]), rows: rows.slice(2).map(cells), note: lines.slice(last + 1).join(' ').trim() };
}

const most = 300; // rows that are shown

function element(t) {
  const cell = (c, k) => h(k ? 'td' : 'th', k ? { class: 'n' } : { scope: 'row' }, /^\*\*.*\*\*$/.test(c) ? h('strong', {}, c.slice(2, -2)) : c);
  return [h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t.title || 'Table' }, h('table', {}, h('thead', {}, h('tr', {}, t.head.map((c, k) => h('th', { scope: 'col', class: k ? 'n' : null }, c)))), h('tbody', {}, t.rows.slice(0, most).map(r => h('tr', {}, r.map(cell)))))),
    t.rows.length > most ? h('p', { class: 'soft small' }, `The first ${most} of ${t.rows.length} rows; the file has all.`) : null, t.note ? h('p', { class: 'soft small' }, t.note) : null].filter(Boolean);
}

// showTables lists the tables of a run; open is whether the small ones are shown at once.
export function showTables(run, id, open) {
  const first = f => f.name === 'tables/result.md' ? 0 : 1; // of a sweep
  const files = run.files.filter(f => /^tables\/.*\.md$/.test(f.name)).sort((a, b) => first(a) - first(b));
  if (!files.length) return [];
  return [h('h2', {}, 'Tables'), ...files.map((f, k) => {
    const link = ext => h('a', { class: 'plain', href: '/file' + query([['id', id], ['name', f.name.replace(/md$/, ext)]]) }, ext);
    const plain = f.name.slice(7, -3).replaceAll('_', ' '), place = h('div', {});
    const summary = h('summary', {}, plain), box = h('details', { class: 'table' }, summary, h('div', { class: 'row' }, link('csv'), link('md'), link('tex')), place);
    let asked = false;
    box.addEventListener('toggle', async () => {
      if (!box.open || asked) return;
      asked = true;
      try {
        const answer = await fetch('/file' + query([['id', id], ['name', f.name]])), t = answer.ok && fromMarkdown(await answer.text());
        if (t && t.title) summary.textContent = t.title;
        place.replaceChildren(...(t ? element(t) : [h('p', { class: 'soft' }, 'This table cannot be read.')]));
      } catch { asked = false; place.replaceChildren(h('p', { class: 'soft' }, 'The server does not answer.')); }
    });
    if (open && f.size <= small && (k < 4 || files.length <= 6)) box.open = true; // a wall of tables is not read
    return box;
  })];
}

// showFigures shows the figures of a run, drawn for paper.
export function showFigures(run, id, open) {
  const files = run.files.filter(f => /^figures\/.*\.svg$/.test(f.name));
  if (!files.length) return [];
  const box = h('details', { class: 'table' }, h('summary', {}, `${files.length} ${files.length === 1 ? 'figure' : 'figures'} for print`), h('div', { class: 'figures' }, files.map(f => {
    const src = '/file' + query([['id', id], ['name', f.name]]);
    return h('figure', { class: 'paper' }, h('a', { href: src, 'aria-label': 'Figure: ' + f.name.slice(8, -4).replaceAll('_', ' ') }, h('img', { src, alt: '', loading: 'lazy' })));
  })));
  box.open = open;
  return [h('h2', {}, 'Figures'), box];
}

// showInner lists the runs inside a run with the settings in which they differ.
export function showInner(run) {
  if (!run.inner || !run.inner.length) return [];
  const differ = (run.differ || []).filter(d => !['p', 'seed', 'command'].includes(d.name)).slice(0, 6), done = run.inner.filter(r => r.status === 'done').slice(0, 100);
  const has = key => run.inner.some(r => r[key] !== null), columns = [['loss', num], ['accuracy', percent], ['margin', num], ['gap', num]].filter(([k]) => has(k));
  return [h('h2', {}, `Runs inside (${run.inner.length + run.hidden})`),
    done.length > 1 ? h('p', {}, h('a', { class: 'button', id: 'inner-compare', href: '/compare' + query(done.map(r => ['run', r.id])) }, `Compare ${done.length === run.inner.length ? 'them' : 'the first ' + done.length + ' that are done'}`)) : null,
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Runs inside' }, h('table', { id: 'inner' }, h('thead', {}, h('tr', {}, ['run', 'p', 'seed', 'status'].map(c => h('th', { scope: 'col' }, c)), differ.map(d => h('th', { scope: 'col' }, d.name.replaceAll('_', ' '))), columns.map(([c]) => h('th', { scope: 'col', class: 'n' }, c)), h('th', { scope: 'col', class: 'n' }, 'time'))),
      h('tbody', {}, run.inner.map((r, k) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: '/run' + query([['id', r.id]]), title: r.id }, r.name || r.label || (name(r.id) === 'run' ? name(r.id.slice(0, -4)) : name(r.id)))), h('td', {}, h('span', { class: 'dot', color: r.color }), ps(r.p)), h('td', {}, r.seed),
        h('td', { title: r.error || null }, status(r.status)), differ.map(d => h('td', {}, d.values[k])), columns.map(([c, write]) => h('td', { class: 'n' }, write(r[c]))), h('td', { class: 'n' }, time(r.seconds))))))),
    run.hidden ? h('p', { class: 'soft small' }, `${run.hidden} more are in the list of all runs.`) : null].filter(Boolean);
}

// showResults lists what a run wrote besides curves.
export function showResults(a) {
  if (!a.results || !a.results.length) return [];
  const columns = a.columns.slice(0, 10);
  return [h('h2', {}, 'Results so far'), h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Results so far' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, ''), columns.map(m => h('th', { scope: 'col', class: 'n' }, m.name.replaceAll('_', ' '))))),
    h('tbody', {}, a.results.map(r => h('tr', {}, h('th', { scope: 'row' }, r.p === null ? null : h('span', { class: 'dot', color: r.color }), r.name || '–'), columns.map(m => h('td', { class: 'n' }, m.scale === 100 ? percent(r.values[m.name]) : num(r.values[m.name]))))))))];
}
