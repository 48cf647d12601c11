// Several runs in one: curves by p with the mean and band of trials, and the settings that differ.
import { h, get, main, name, num, percent, plural, status, query } from './page.js';
import { Chart, sample, shade, wide } from './chart.js';
import { axisOf, begin, changed, listen, measured, toolbar, view } from './view.js';
import { Heat, fromSizes, sizeRange } from './heat.js';

const axis = { step: 'step', epoch: 'epoch', time: 'time', b: 'radius B of the ball', line: 'line' };
const logarithmic = x => x === 'step' || x === 'b';
const sampled = 600; // points of a curve

// looks are colour and dash of the groups of a kind: the colour is p, and of the groups of one p each has another dash and another strength of the colour. A variant has the same with every p.
function looks(groups) {
  const variant = g => g.name.replace(/^p = [^,]*(, )?/, ''), variants = [...new Set(groups.map(variant))], most = Math.max(...groups.map(g => groups.filter(o => o.color[0] === g.color[0]).length));
  const before = groups.map((g, k) => groups.slice(0, k).filter(o => o.color[0] === g.color[0]).length);
  return groups.map((g, k) => { const n = variants.length <= 12 ? variants.indexOf(variant(g)) : before[k]; return most > 1 ? { color: shade(g.color, n % 3), dash: n % 4 } : { color: g.color, dash: 0 }; });
}

// short are the names of groups without the p that all have.
function short(groups) {
  const ps = new Set(groups.map(g => g.p));
  return groups.map(g => ps.size > 1 || groups.length === 1 ? g.name : g.name.replace(/^p = [^,]*, /, ''));
}

// brief is a name without the words that all names have: 0.1, cosine for lr 0.1, schedule cosine.
const brief = text => text.split(', ').map(part => /^p = /.test(part) ? part : part.replace(/^.* (?=\S+$)/, '')).join(', ');

// title says what is compared: what the runs are, and in what they differ.
function title(a) {
  if (a.runs.length === 1) return name(a.runs[0]);
  const kinds = [...new Set(a.kinds.map(k => k.kind.split(':')[0]))], differ = ['p', ...a.can_group.filter(k => k !== 'p')].map(key => (a.differ || []).find(d => d.name === key)).filter(Boolean);
  const said = differ.slice(0, 3).map(d => {
    const values = [...new Set(d.values.flatMap(v => d.name === 'p' ? v.split(/,\s*/) : [v]))].filter(v => v !== '' && v !== '–'), word = d.name.replaceAll('_', ' ');
    values.sort((x, y) => x - y || (x > y ? 1 : -1));
    return values.length && values.length <= 4 && values.every(v => v.length < 24) ? `${word} ${values.length > 1 ? values.slice(0, -1).join(', ') + ' and ' + values[values.length - 1] : values[0]}` : values.length > 4 ? `${values.length} values of ${word}` : word;
  });
  const seeds = new Set(((a.differ || []).find(d => d.name === 'seed') || { values: [] }).values);
  if (!said.length && seeds.size > 1) said.push(plural(seeds.size, 'seed'));
  return `${kinds.length && kinds.length < 3 ? kinds.join(' and ') : plural(a.runs.length, 'run')}${said.length ? ': ' + said.join('; ') + (differ.length > 3 ? ' and more' : '') : ''}`;
}

export async function showCompare(params) {
  const runs = params.getAll('run').map(id => ['run', id]);
  const ask = () => get('/api/compare' + query([...runs, ['points', sampled], ...(view.x ? [['x', view.x]] : []), ...(view.by ? [['by', view.by]] : []), ...zoom()]));
  const zoom = () => { const of = ['step', 'epoch', 'time'].map(axisOf).find(o => o.zoom); return of ? [['from', of.zoom[0]], ['to', of.zoom[1]]] : []; };
  let a = await ask();
  const box = main(), over = () => [...new Set(a.kinds.flatMap(k => k.groups.flatMap(g => g.axes)))].filter(measured), now = () => { const g = a.kinds.flatMap(k => k.groups)[0]; return g ? g.over : 'line'; };
  document.title = `${title(a)} – bregman`;
  box.replaceChildren(h('h1', {}, title(a)), runs.length > 1 ? h('p', { class: 'soft small' }, plural(runs.length, 'run') + ' side by side') : '',
    h('div', { class: 'row' }, h('a', { class: 'button', href: '/api/report' + query([...runs, ['download', '1']]), download: '' }, 'Report as one file'), h('a', { class: 'button', href: '/api/report' + query(runs) }, 'Read the report')));
  begin(axis[now()]);
  const by = h('select', { id: 'by', onchange: () => { view.by = by.value === 'all' ? null : by.value; view.hide.clear(); changed('by'); } },
    [['all', 'all but the seed'], ['p', 'p alone'], ...a.can_group.filter(k => k !== 'p').map(k => [k, 'p and ' + k.replaceAll('_', ' ')]), ['runs', 'run']].map(([v, t]) => h('option', { value: v, selected: v === a.by }, t)));
  const bar = toolbar({ over: over(), x: now(), logX: logarithmic(now()), more: runs.length > 1 ? [h('label', {}, 'one curve for each ', by)] : [] });
  const body = h('div', {}), numbers = h('div', {});
  box.append(bar, body, h('h2', {}, 'The runs'), numbers, h('h2', {}, 'Settings that differ'), differences(a));
  let kinds = []; // how each kind takes newer numbers
  const build = () => { kinds.forEach(k => k.drop()); kinds = a.kinds.map(k => showKind(k, runs)); body.replaceChildren(...kinds.flatMap(k => k.parts), ...notes(a)); numbers.replaceChildren(...own(a)); bar.over(over(), now(), logarithmic(now())); };
  build();
  performance.mark('painted');
  let asked = 0, soon = null;
  const again = async rebuild => {
    const mine = ++asked, newer = await ask();
    if (mine !== asked) return;
    a = newer;
    if (rebuild || a.kinds.length !== kinds.length || a.kinds.some((k, i) => !kinds[i].same(k))) build();
    else { a.kinds.forEach((k, i) => kinds[i].take(k)); numbers.replaceChildren(...own(a)); }
  };
  listen(what => {
    if (what === 'x' || what === 'by') again(true).catch(() => {});
    if (what === 'zoom') { clearTimeout(soon); soon = setTimeout(() => again(false).catch(() => {}), 250); }
  });
  const watch = async () => {
    if (!document.hidden) await again(false);
    if (a.running) setTimeout(() => watch().catch(() => {}), 2000);
  };
  if (a.running) setTimeout(() => watch().catch(() => {}), 2000);
}

// showKind shows the runs of one kind: legend, charts, final values, heat maps.
function showKind(kind, runs) {
  const look = looks(kind.groups), names = short(kind.groups), charts = [], grid = h('div', { class: 'charts' }), heats = h('div', { class: 'charts' }), final = h('div', {});
  const hidden = k => view.hide.has(kind.groups[k].name);
  const redraw = () => charts.forEach(([c, m]) => c.set((kind.bands[m] || []).filter(b => !hidden(b.group)).map(b => ({ name: names[b.group], brief: brief(names[b.group]), ...look[b.group], x: b.x, y: b.y, low: b.low, high: b.high }))));
  const legend = h('div', { class: 'legend', role: 'group', 'aria-label': 'Show groups' }, kind.groups.map((g, k) => {
    const box = h('input', { type: 'checkbox', checked: !hidden(k), onchange: () => { box.checked ? view.hide.delete(g.name) : view.hide.add(g.name); changed('look'); redraw(); } });
    return h('label', {}, box, ' ', sample(look[k].color, look[k].dash), ' ' + names[k] + trials(g));
  }));
  for (const m of kind.metrics) {
    const bands = kind.bands[m.name];
    if (!bands) continue;
    const over = kind.groups[bands[0].group].over, to = t => h('a', { class: 'plain', href: '/api/figure' + query([...runs, ['metric', m.name], ['to', t]]), download: '', 'aria-label': `${m.title} as ${t}` }, t);
    const chart = new Chart({ title: m.title, x: axis[over] || over, y: m.y, logX: logarithmic(over), logY: m.log || wide(bands), explain: m.explain, links: [to('svg'), to('png')] });
    charts.push([chart, m.name]);
    grid.append(chart.card);
  }
  redraw();
  final.replaceChildren(...showFinal(kind, names, look));
  const drawHeats = showHeats(kind, heats);
  return {
    parts: [h('h2', {}, kind.kind + common(kind)), legend, grid, final, ...(heats.firstChild ? [h('h2', {}, 'Sizes of the weights over time'), h('p', { class: 'soft small' }, 'Each column is a histogram of |w| at one time, of the first run of a group: the stronger the colour, the more weights have that size.'), heats] : [])],
    same: newer => newer.groups.length === kind.groups.length && newer.groups.every((g, k) => g.name === kind.groups[k].name && g.over === kind.groups[k].over) && Object.keys(newer.bands).every(m => charts.some(([, n]) => n === m)),
    take: newer => { kind.bands = newer.bands; kind.final = newer.final; redraw(); final.replaceChildren(...showFinal(kind, names, look)); drawHeats(newer); },
    drop: () => charts.forEach(([c]) => c.drop()),
  };
}

// common is the p of all groups, if their names leave it out.
const common = kind => kind.groups.length > 1 && new Set(kind.groups.map(g => g.p)).size === 1 && /^p = [^,]*, /.test(kind.groups[0].name) ? ', ' + kind.groups[0].name.split(',')[0] : '';

// showFinal shows the numbers at the end, as a report does.
function showFinal(kind, names, look) {
  const tables = (kind.final || []).filter(t => t.header.length > 1);
  if (!tables.length) return [];
  return [h('h3', { class: 'final' }, 'Final values'), ...tables.flatMap(t => [h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': t.title }, h('table', { class: 'ends' }, h('thead', {}, h('tr', {}, t.header.map((c, k) => h('th', { scope: 'col', class: k ? 'n' : null }, c)))),
    h('tbody', {}, t.rows.map((r, i) => h('tr', {}, r.map((c, k) => k ? h('td', { class: 'n' }, c.best ? h('strong', {}, c.text) : c.text) : h('th', { scope: 'row' }, look[i] ? sample(look[i].color, look[i].dash) : '', ' ', names[i] || c.text))))))),
    h('p', { class: 'soft small' }, t.note)])];
}

// notes say what a mean is over.
function notes(a) {
  const any = test => a.kinds.some(k => k.groups.some(test)), p = text => h('p', { class: 'soft small' }, text), out = [];
  if (any(g => g.trials > 1)) out.push(p(a.by === 'all' || a.by === 'runs' ? 'Runs that differ only in their seed are trials: their mean, and one standard deviation to both sides.' : 'Each curve is the mean of its runs, whatever else differs between them, and one standard deviation to both sides.'));
  if (any(g => g.runs.length > g.trials)) out.push(p('Runs with the same seed and the same settings are one trial: the first of them counts.'));
  return out;
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
    newer.groups.forEach((g, k) => { if (maps[k] && g.sizes) maps[k].set(fromSizes(g.sizes, axis[g.axes[0]] || g.axes[0], range)); });
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
