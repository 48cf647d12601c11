// Several runs in one: curves by p with the mean and band of trials, and the settings that differ.
import { h, get, main, name, num, percent, plural, status, query } from './page.js';
import { Chart, sample, wide } from './chart.js';
import { Heat, fromSizes, sizeRange } from './heat.js';

const axis = { step: 'step', epoch: 'epoch', b: 'radius B of the ball', line: 'line' };

export async function showCompare(params) {
  const runs = params.getAll('run').map(id => ['run', id]);
  document.title = `${plural(runs.length, 'run')} – bregman`;
  let a = await get('/api/compare' + query([...runs, ['points', 600]]));
  const box = main();
  box.replaceChildren(h('h1', {}, runs.length === 1 ? name(runs[0][1]) : `${runs.length} runs side by side`),
    h('div', { class: 'row' }, h('a', { class: 'button', href: '/api/report' + query([...runs, ['download', '1']]), download: '' }, 'Report as one file'), h('a', { class: 'button', href: '/api/report' + query(runs) }, 'Read the report')));
  const fresh = []; // how each kind takes newer numbers
  for (const kind of a.kinds) {
    const hidden = new Set(), charts = [], dash = kind.groups.map(g => g.dash); // a colour is a p, a dash a variant
    const redraw = () => charts.forEach(([c, m]) => c.set((kind.bands[m] || []).filter(b => !hidden.has(b.group)).map(b => ({ name: kind.groups[b.group].name, color: kind.groups[b.group].color, dash: dash[b.group], x: b.x, y: b.y, low: b.low, high: b.high }))));
    const legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Show groups' }, kind.groups.map((g, k) => {
      const box = h('input', { type: 'checkbox', checked: true, onchange: () => { box.checked ? hidden.delete(k) : hidden.add(k); redraw(); } });
      return h('label', {}, box, ' ', sample(g.color, dash[k]), ' ' + g.name + trials(g));
    }));
    const grid = h('div', { class: 'charts' }), heats = h('div', { class: 'charts' });
    for (const m of kind.metrics) {
      const bands = kind.bands[m.name];
      if (!bands) continue;
      const over = kind.groups[bands[0].group].over, to = t => h('a', { class: 'plain', href: '/api/figure' + query([...runs, ['metric', m.name], ['to', t]]), download: '', 'aria-label': `${m.title} as ${t}` }, t);
      const chart = new Chart({ title: m.title, x: axis[over] || over, y: m.y, logX: over === 'step' || over === 'b', logY: m.log || wide(bands), links: [to('svg'), to('png')] });
      charts.push([chart, m.name]);
      grid.append(chart.card);
    }
    redraw();
    const drawHeats = showHeats(kind, heats);
    fresh.push(newer => { if (newer.groups.length === kind.groups.length) { kind.bands = newer.bands; redraw(); drawHeats(newer); } });
    box.append(h('h2', {}, kind.kind), legend, grid, ...(heats.firstChild ? [h('h2', {}, 'Sizes of the weights over time'), h('p', { class: 'soft small' }, 'Each column is a histogram of |w| at one time, of the first run of a group: the stronger the colour, the more weights have that size.'), heats] : []));
  }
  const any = test => a.kinds.some(k => k.groups.some(test));
  if (any(g => g.trials > 1)) box.append(h('p', { class: 'soft small' }, 'Runs that differ only in their seed are trials: their mean, and one standard deviation to both sides.'));
  if (any(g => g.runs.length > g.trials)) box.append(h('p', { class: 'soft small' }, 'Runs with the same seed and the same settings are one trial: the first of them counts.'));
  const numbers = h('div', {}, ...own(a));
  fresh.again = () => numbers.replaceChildren(...own(a));
  box.append(h('h2', {}, 'The runs'), numbers, h('h2', {}, 'Settings that differ'), differences(a));
  performance.mark('painted');
  const again = async () => {
    if (!document.hidden) a = await get('/api/compare' + query([...runs, ['points', 600]]));
    if (a.kinds.length === fresh.length) a.kinds.forEach((kind, k) => fresh[k](kind));
    fresh.again();
    if (a.running) setTimeout(() => again().catch(() => {}), 2000);
  };
  if (a.running) setTimeout(() => again().catch(() => {}), 2000);
}

// trials describes how many runs a group has, if there are several, and how many of them count.
function trials(g) {
  if (g.runs.length > g.trials) return ` (${plural(g.runs.length, 'run')}, ${plural(g.trials, 'trial')})`;
  return g.trials > 1 ? ` (${plural(g.trials, 'trial')})` : '';
}

// showHeats draws a heat map for each group of networks, all on one scale, and returns how they take newer numbers.
function showHeats(kind, box) {
  const maps = kind.groups.map(g => {
    if (!g.sizes || !g.sizes.length) return null;
    const heat = new Heat(g.name, g.color, false);
    box.append(heat.card);
    return heat;
  });
  const draw = newer => {
    const range = sizeRange(newer.groups.flatMap(g => g.sizes || []));
    newer.groups.forEach((g, k) => { if (maps[k] && g.sizes) maps[k].set(fromSizes(g.sizes, axis[g.over] || g.over, range)); });
  };
  draw(kind);
  return draw;
}

// own lists every run with its own last numbers.
function own(a) {
  const columns = [['loss', num], ['accuracy', percent], ['margin', num], ['gap', num]].filter(([k]) => a[k].some(v => v !== null));
  return [h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'The runs' }, h('table', { id: 'own' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'run'), h('th', { scope: 'col' }, 'status'), columns.map(([c]) => h('th', { scope: 'col', class: 'n' }, c)))),
    h('tbody', {}, a.runs.map((id, k) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: '/run' + query([['id', id]]) }, name(id))), h('td', {}, status(a.status[k])), columns.map(([c, write]) => h('td', { class: 'n' }, write(a[c][k]))))))))];
}

function differences(a) {
  if (a.runs.length < 2) return h('p', { class: 'soft' }, 'Choose several runs in the list.');
  if (!a.differ || !a.differ.length) return h('p', { class: 'soft' }, 'None: these runs have the same settings.');
  return h('div', { class: 'scroll' }, h('table', { id: 'differ' }, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'run'), a.differ.map(d => h('th', { scope: 'col' }, d.name)))),
    h('tbody', {}, a.runs.map((id, k) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: '/run' + query([['id', id]]) }, name(id))), a.differ.map(d => h('td', d.values[k].length > 200 ? { title: d.values[k] } : {}, d.values[k].length > 200 ? d.values[k].slice(0, 200) + ' …' : d.values[k])))))));
}
