// A chart of curves with a band each, drawn by uPlot: our scales, a cross-hair for mouse and keyboard that all charts of one axis share, the numbers as text.
import uPlot from './uPlot.esm.js';
import { h, meaning, num, say } from './page.js';
import { axisOf, changed, measured, view, zoomTo } from './view.js';
import { cut, decade, nearest, place, scaleOf, shade, shown, smoothed, tick, ticks } from './scale.js';

export { tick, ticks, shade };

const height = 250, patterns = [[], [6, 4], [1.5, 3], [6, 3, 1.5, 3], [13, 5], [6, 3, 1.5, 3, 1.5, 3]], far = 24; // pixels from the cross-hair within which a point is read
const dark = matchMedia('(prefers-color-scheme: dark)'), all = new Set();
let printing = false;

const repaint = () => all.forEach(c => c.u && c.u.redraw(false));
dark.addEventListener('change', repaint);
addEventListener('beforeprint', () => { printing = true; repaint(); });
addEventListener('afterprint', () => { printing = false; repaint(); });
const paint = color => color[dark.matches && !printing ? 1 : 0];
const inks = new Map();
function ink(name) {
  const key = name + dark.matches + printing;
  if (!inks.has(key)) inks.set(key, printing ? { '--soft': '#5f6368', '--grid': '#eceef1' }[name] : getComputedStyle(document.documentElement).getPropertyValue(name));
  return inks.get(key);
}

// Chart draws series: [{name, brief, color: [light, dark], dash, thin, x, y, low, high}]; brief is a name for narrow places. A y that is null is not a point, one that cannot be shown is a gap.
export class Chart {
  constructor({ title, x, y, logX = false, logY = false, links = [], explain = '' }) {
    Object.assign(this, { title, yName: y, ownLogX: logX, ownLogY: logY, series: [], lines: [], key: [] });
    this.plot = h('div', { class: 'plot', tabindex: 0, role: 'img', onkeydown: e => this.press(e), onblur: () => this.leave(), onpointermove: e => { if (e.pointerType !== 'mouse') this.point(e.clientX); } });
    this.read = h('div', { class: 'read' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.cross = h('div', { class: 'crosshair', hidden: true });
    this.scale = h('button', { class: 'plain', type: 'button', onclick: () => { this.logY = !this.logY; changed('look'); } }, 'log');
    this.reset = h('button', { class: 'plain', type: 'button', hidden: true, onclick: () => zoomTo(this.axis, null) }, 'show all');
    this.table = h('details', {}, h('summary', {}, 'Numbers'));
    this.table.addEventListener('toggle', () => this.fill());
    const why = meaning(title, explain);
    this.card = h('section', { class: 'card', 'aria-label': title }, h('header', {}, h('h3', {}, title, ' ', why.button), h('span', {}, this.reset, this.scale, ...links)), why.text, this.read, h('div', { class: 'chart' }, this.plot, this.tip), this.table);
    this.over(x, logX);
    all.add(this);
    new ResizeObserver(() => this.later()).observe(this.plot);
  }

  get logY() { return view.logY.has(this.title) ? view.logY.get(this.title) : this.ownLogY; }
  set logY(v) { if (v === this.ownLogY) view.logY.delete(this.title); else view.logY.set(this.title, v); this.later(); }
  get logX() { return measured(this.axis.name) && view.logX !== null ? view.logX : this.ownLogX; }

  // over draws the chart over another axis from now on.
  over(x, logX) {
    if (this.axis) this.axis.charts.delete(this);
    this.axis = axisOf(x);
    this.axis.charts.add(this);
    this.ownLogX = logX;
  }

  // drop forgets a chart that is no longer in the page.
  drop() { this.axis.charts.delete(this); all.delete(this); }

  set(series) {
    this.series = series.map(s => s.x.every((v, i) => !i || !(v < s.x[i - 1])) ? s : sorted(s));
    this.later();
  }

  // later draws before the next frame, however many changes come until then.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); if (this.table.open) this.fill(); });
  }

  // lay puts curves and bands into the unit square: the part of x that is shown, and of y what it needs.
  lay() {
    const range = log => {
      let lo = Infinity, hi = -Infinity;
      for (const s of this.series) for (let i = 0; i < s.x.length; i++) if (shown(s.x[i], log) && shown(s.y[i])) { lo = Math.min(lo, s.x[i]); hi = Math.max(hi, s.x[i]); }
      return lo > hi ? null : [lo, hi];
    };
    let log = this.logX, xs = range(log), zoom = this.axis.zoom;
    if (zoom && xs) { const a = Math.max(zoom[0], xs[0]), b = Math.min(zoom[1], xs[1]); if (a < b) xs = [a, b]; }
    if (log && (!xs || !decade(...xs))) { log = false; if (!zoom) xs = range(false); }
    if (!xs) xs = [0, 1];
    if (xs[0] === xs[1]) xs = [xs[0] - Math.max(1, Math.abs(xs[0])) / 2, xs[1] + Math.max(1, Math.abs(xs[1])) / 2];
    this.X = scaleOf(xs[0], xs[1], log);
    if (!this.layY(this.logY)) this.layY(false);
  }

  layY(log) {
    const smooth = measured(this.axis.name) ? view.smooth : 0;
    let lo = Infinity, hi = -Infinity;
    this.lines = []; this.bands = [];
    const see = vs => { for (const v of vs) if (v < lo) { lo = v; if (v > hi) hi = v; } else if (v > hi) hi = v; };
    this.series.forEach((s, of) => {
      const y = smooth ? smoothed(s.y, smooth) : s.y;
      s.shown = y;
      if (s.low && s.low.length) {
        const keep = s.x.map((_, i) => i).filter(i => shown(s.low[i]) && shown(s.high[i], log)), x = keep.map(i => s.x[i]), edge = e => { const v = keep.map(i => e[i]); return smooth ? smoothed(v, smooth) : v; };
        const up = cut(x, edge(s.high), this.X, log), low = edge(s.low), down = cut(x, log ? low.map((v, k) => v > 0 ? v : null) : low, this.X, log);
        this.bands.push({ s, up, down, floor: log && low.some(v => !(v > 0)) });
        see(up.vs); see(down.vs);
      }
      if (smooth) this.lines.push({ s, of, raw: true, ...cut(s.x, s.y, this.X, log) });
      this.lines.push({ s, of, ...cut(s.x, y, this.X, log) });
    });
    for (const l of this.lines) see(l.vs);
    if (log && (lo > hi || !decade(Math.exp(lo), Math.exp(hi)))) return false;
    if (lo > hi) { lo = 0; hi = 1; }
    const pad = hi - lo <= 1e-9 * Math.max(Math.abs(lo), Math.abs(hi)) ? Math.max(Math.abs(lo), 1e-300) / 2 || 0.5 : (hi - lo) * 0.04, f = log ? Math.exp : v => v;
    this.Y = scaleOf(Math.max(f(lo - pad), log ? 1e-306 : -1.7e308), Math.min(f(hi + pad), 1.7e308), log);
    const a = this.Y.f(this.Y.lo), b = this.Y.f(this.Y.hi), to = vs => vs.map(v => (v - a) / (b - a));
    for (const l of this.lines) l.vs = to(l.vs);
    for (const c of this.bands) { c.up.vs = to(c.up.vs); c.down.vs = to(c.down.vs); }
    return true;
  }

  draw() {
    this.lay();
    this.width = this.plot.clientWidth;
    this.scale.setAttribute('aria-pressed', String(this.logY));
    this.scale.title = !this.logY ? 'A logarithmic axis' : this.Y.log ? 'A linear axis' : 'Linear, as the values span less than a decade';
    this.reset.hidden = !this.axis.zoom;
    this.plot.setAttribute('aria-label', this.summary());
    this.note();
    this.show();
    if (!this.width) return; // not to be seen now
    if (!this.u || this.u.series.length !== this.lines.length + 1) this.make();
    else {
      this.lines.forEach((l, k) => Object.assign(this.u.series[k + 1], this.look(l)));
      if (this.u.width !== this.width) this.u.setSize({ width: this.width, height });
      this.u.redraw(true, true);
    }
  }

  // note says what is drawn, for programs that look at the page.
  note() {
    const points = this.lines.filter(l => !l.raw).reduce((n, l) => n + l.us.filter(u => u === u).length, 0), d = this.plot.dataset;
    d.curves = this.series.length; d.points = points; d.x = `${this.X.lo} ${this.X.hi}`; d.y = `${this.Y.lo} ${this.Y.hi}`;
    d.ticks = this.yTicks().map(v => tick(v)).join(' '); d.xticks = this.width ? this.xTicks().map(v => tick(v, this.axis.name)).join(', ') : ''; d.log = (this.X.log ? 'x' : '') + (this.Y.log ? 'y' : '');
    d.looks = this.series.map(s => `${s.color[0]} ${s.dash || 0}`).join(', ');
  }

  look(l) {
    return { dash: patterns[l.s.dash || 0], width: l.raw ? 1 : l.s.thin ? 1.3 : 1.8, alpha: l.raw ? 0.28 : 1 };
  }

  xTicks() { return ticks(this.X.lo, this.X.hi, this.X.log, Math.max(3, Math.min(8, Math.floor((this.width - 70) / 62))), this.axis.name); }
  yTicks() { return ticks(this.Y.lo, this.Y.hi, this.Y.log, 5); }

  make() {
    if (this.u) this.u.destroy();
    const font = '12px system-ui, -apple-system, "Segoe UI", Arial, sans-serif', line = (name, width = 1) => ({ stroke: () => ink(name), width });
    const axis = { stroke: () => ink('--soft'), grid: line('--grid'), ticks: { show: false }, border: { show: true, ...line('--soft') }, font, labelFont: font, space: 0, incrs: () => [10], labelSize: 17, gap: 5 };
    this.u = new uPlot({
      width: this.width, height, padding: [8, 18, 0, 0], legend: { show: false },
      cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 6 }, bind: { dblclick: () => () => zoomTo(this.axis, null) } },
      scales: { x: { time: false, range: () => [0, 1] }, y: { range: () => [0, 1] } },
      series: [{}, ...this.lines.map((l, k) => ({ ...this.look(l), stroke: () => paint(this.lines[k].s.color), paths: () => this.path(this.lines[k]), points: { show: false }, pxAlign: 0 }))],
      axes: [
        { ...axis, size: 24, label: () => this.axis.name + (this.X.log ? ', log' : ''), splits: () => this.xTicks().map(this.X.to), values: () => this.xTicks().map(v => tick(v, this.axis.name)) },
        { ...axis, label: () => this.yName + (this.Y.log ? ', log' : ''), labelGap: 2, splits: () => this.yTicks().map(this.Y.to), values: () => this.yTicks().map(v => tick(v)), size: (u, values) => 12 + 7 * Math.max(2, ...(values || []).map(v => v.length)) },
      ],
      hooks: {
        drawAxes: [() => this.fillBands()], draw: [() => this.markLone()], setSelect: [u => this.selected(u)],
        setCursor: [u => { if (u.cursor.event && u.cursor.event.type.startsWith('mouse')) u.cursor.left < 0 ? this.leave() : this.to(u.cursor.left / u.over.clientWidth); }],
      },
    }, [[0, 1], ...this.lines.map(() => [0, 1])], this.plot);
    this.plot.querySelector('canvas').setAttribute('aria-label', this.title);
    this.u.over.append(this.cross);
  }

  // path is a curve in pixels of the canvas.
  path(l) {
    const { left, top, width, height } = this.u.bbox, stroke = new Path2D();
    let pen = false;
    l.us.forEach((u, i) => {
      if (Number.isNaN(u)) { pen = false; return; }
      const x = left + u * width, y = top + (1 - l.vs[i]) * height;
      pen ? stroke.lineTo(x, y) : stroke.moveTo(x, y);
      pen = true;
    });
    return { stroke, fill: null, clip: null, flags: 0 };
  }

  fillBands() {
    const { left, top, width, height } = this.u.bbox, g = this.u.ctx;
    g.save();
    g.beginPath(); g.rect(left, top, width, height); g.clip();
    g.globalAlpha = 0.17;
    for (const b of this.bands) {
      if (b.up.us.length < 2) continue;
      g.fillStyle = paint(b.s.color);
      g.beginPath();
      b.up.us.forEach((u, i) => g.lineTo(left + u * width, top + (1 - b.up.vs[i]) * height));
      if (b.floor) g.lineTo(left + b.up.us[b.up.us.length - 1] * width, top + height); // what a logarithmic axis cannot show goes to its end
      for (let i = b.down.us.length - 1; i >= 0; i--) g.lineTo(left + b.down.us[i] * width, top + (1 - b.down.vs[i]) * height);
      if (b.floor) g.lineTo(left + b.up.us[0] * width, top + height);
      g.fill();
    }
    g.restore();
  }

  // markLone draws points that no line reaches.
  markLone() {
    const { left, top, width, height } = this.u.bbox, g = this.u.ctx, r = 4 * devicePixelRatio;
    for (const l of this.lines) {
      if (l.raw) continue;
      const same = l.us.length > 1 && l.us.every(u => u === l.us[0]);
      l.us.forEach((u, i) => {
        if (Number.isNaN(u) || !(same ? i === l.us.length - 1 : !(l.us[i - 1] >= 0) && !(l.us[i + 1] >= 0))) return;
        g.beginPath(); g.arc(left + u * width, top + (1 - l.vs[i]) * height, r, 0, 7);
        g.fillStyle = paint(l.s.color); g.fill();
      });
    }
  }

  selected(u) {
    const { left, width } = u.select, w = u.over.clientWidth;
    if (width < 6) return;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.zoom(this.X.from(left / w), this.X.from((left + width) / w));
  }

  zoom(a, b) { if (b - a > 1e-9 * Math.max(Math.abs(a), Math.abs(b))) zoomTo(this.axis, [a, b].map(v => Number(v.toPrecision(6)))); }

  summary() {
    const ends = this.series.slice(0, 6).map(s => { const k = lastIndex(s.y); return k < 0 ? null : `${s.name || this.yName} ${num(s.y[k])} at ${place(s.x[k], this.axis.name, num)}`; }).filter(Boolean);
    return `${this.title}. ${ends.join('; ')}.${this.axis.zoom ? ` Zoomed: ${place(this.X.lo, this.axis.name, num)} to ${place(this.X.hi, this.axis.name, num)}.` : ''} Arrow keys read values, plus and minus zoom, Escape shows all.`;
  }

  // point and to move the cross-hair to the point that is nearest to a place of the page, or of the plot.
  point(clientX) { if (this.u) { const r = this.u.over.getBoundingClientRect(); this.to((clientX - r.left) / r.width); } }

  to(u) {
    let best = null, near = Infinity;
    const x = this.X.from(Math.max(0, Math.min(1, u)));
    for (const s of this.series) {
      const k = nearest(s.x, s.shown || s.y, x);
      for (const i of [k - 1, k, k + 1]) if (shown(s.x[i], this.X.log)) {
        const at = this.X.to(s.x[i]), d = Math.abs(at - u);
        if (d < near && at >= -1e-9 && at <= 1 + 1e-9) { near = d; best = s.x[i]; }
      }
    }
    if (best !== null) this.move(best);
  }

  move(x) {
    this.axis.at = x; this.axis.by = this;
    for (const c of this.axis.charts) c.show();
  }

  leave() {
    this.axis.at = null;
    for (const c of this.axis.charts) c.show();
  }

  press(e) {
    if (e.key === 'Escape') { this.leave(); if (this.axis.zoom) { zoomTo(this.axis, null); say(this.title + ': all is shown'); } return; }
    const inside = this.series.reduce((a, s) => s.x.length > a.length ? s.x : a, []).filter(v => shown(v, this.X.log) && v >= this.X.lo && v <= this.X.hi);
    if (e.key === '+' || e.key === '-' || e.key === '=') {
      const f = e.key === '-' ? 1 : 0.25, u = this.axis.at === null ? 0.5 : this.X.to(this.axis.at), a = Math.max(f === 1 ? -0.5 : 0, u - f), b = Math.min(f === 1 ? 1.5 : 1, u + f);
      e.preventDefault();
      if (f < 1) this.zoom(this.X.from(a), this.X.from(b)); else if (this.axis.zoom) this.zoom(this.X.from(a), this.X.from(b));
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (!step || !inside.length) return;
    e.preventDefault();
    let k = this.axis.at === null ? (step > 0 ? -1 : inside.length) : inside.findIndex(v => v >= this.axis.at);
    k = Math.max(0, Math.min(inside.length - 1, k + step));
    this.move(inside[k]);
    say(`${place(inside[k], this.axis.name, num)}: ` + this.values(inside[k]).map(([s, v]) => `${s.name || this.yName} ${num(v)}`).join(', '));
  }

  // values are what the curves are at x: those with a point near it.
  values(x) {
    const out = [], wide = this.u ? this.u.over.clientWidth : 400;
    for (const s of this.series) {
      const k = nearest(s.x, s.y, x);
      if (k >= 0 && (s.x[k] === x || shown(s.x[k], this.X.log) && Math.abs(this.X.to(s.x[k]) - this.X.to(x)) * wide <= far)) out.push([s, (s.shown || s.y)[k], s.x[k]]);
    }
    return out;
  }

  // show puts the cross-hair where that of the axis is, and writes what the curves are there: in the line above, or, if there are many curves, beside the plot's other half.
  show() {
    const at = this.axis.at, here = at !== null && this.X, few = this.series.length <= 2, item = ([s, v]) => h('span', {}, this.series.length > 1 ? sample(s.color, s.dash || 0) : '', ' ', s.name ? s.name + ' ' : '', h('b', {}, num(v)));
    const last = !here ? Math.max(...this.series.map(s => { const k = lastIndex(s.y); return k < 0 ? -Infinity : s.x[k]; })) : at;
    const rows = here ? this.values(at) : [];
    this.read.replaceChildren(...(Number.isFinite(last) && (few || here) ? [h('span', { class: 'soft' }, place(last, this.axis.name, num))] : []),
      ...(few ? (here ? rows : this.series.map(s => [s, s.y[lastIndex(s.y)]])).map(item) : this.key.map(([dash, text]) => h('span', { class: 'soft' }, sample(['currentColor', 'currentColor'], dash), ' ' + text))));
    const u = here && shown(at, this.X.log) ? this.X.to(at) : NaN, on = u >= -1e-9 && u <= 1 + 1e-9;
    this.cross.hidden = !on;
    this.tip.hidden = few || !on || this.axis.by !== this || !rows.length;
    if (!on || !this.u) return;
    const w = this.u.over.clientWidth, tall = this.u.over.clientHeight;
    this.cross.style.transform = `translateX(${(u * w).toFixed(1)}px)`;
    this.cross.replaceChildren(...rows.map(([s, v, x]) => {
      const y = shown(v, this.Y.log) ? this.Y.to(v) : NaN;
      if (!(y >= 0 && y <= 1)) return null;
      const dot = h('i', { color: s.color });
      dot.style.transform = `translate(${((this.X.to(x) - u) * w).toFixed(1)}px, ${((1 - y) * tall).toFixed(1)}px)`;
      return dot;
    }).filter(Boolean));
    if (this.tip.hidden) return;
    const most = 11;
    this.tip.replaceChildren(...rows.slice(0, most).map(([s, v]) => h('div', {}, sample(s.color, s.dash || 0), h('span', { title: s.name || null }, s.brief || s.name || this.yName), h('b', {}, num(v)))), rows.length > most ? h('div', { class: 'soft' }, `and ${rows.length - most} more`) : '');
    const from = this.u.over.offsetLeft;
    this.tip.style.maxWidth = Math.floor(Math.min(0.62, Math.max(u, 1 - u)) * w - 18) + 'px'; // never as far as the cross-hair
    this.tip.style.left = u < 0.5 ? 'auto' : from + 4 + 'px';
    this.tip.style.right = u < 0.5 ? '20px' : 'auto';
  }

  // fill writes the numbers as a table, some thirty rows of each curve.
  fill() {
    if (!this.table.open) return;
    const rows = [];
    for (const s of this.series) {
      const every = Math.max(1, Math.ceil(s.x.length / 30));
      for (let i = 0; i < s.x.length; i++) if (i % every === 0 || i === s.x.length - 1) rows.push(h('tr', {}, h('td', {}, s.name || this.title), h('td', { class: 'n' }, num(s.x[i])), h('td', { class: 'n' }, num(s.y[i]))));
    }
    this.table.replaceChildren(this.table.firstChild, h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, ''), h('th', { class: 'n' }, this.axis.name + (this.axis.name === 'time' ? ', s' : '')), h('th', { class: 'n' }, this.yName))), h('tbody', {}, rows))));
  }
}

// sorted puts the points of a curve in the order of x.
function sorted(s) {
  const order = s.x.map((_, i) => i).sort((a, b) => s.x[a] - s.x[b]), by = v => v && order.map(i => v[i]);
  return { ...s, x: by(s.x), y: by(s.y), low: by(s.low), high: by(s.high) };
}

// dashes distinguishes curves of one colour: how many before each have its own.
export const dashes = colors => colors.map((c, k) => colors.slice(0, k).filter(o => o[0] === c[0]).length % 6);

// sample is a piece of a curve for a legend.
export const sample = (color, dash) => h('svg', { width: 26, height: 10, viewBox: '0 0 26 10', 'aria-hidden': 'true' }, h('line', { class: 'curve dash' + dash, color, x1: 1, x2: 25, y1: 5, y2: 5 }));

// wide reports whether numbers, all positive, differ so much that most of them would lie on the axis.
export function wide(series) {
  const last = series.map(s => s.y[lastIndex(s.y)]).filter(v => v !== undefined);
  return last.length > 1 && series.every(s => s.y.every(v => v === null || v > 0)) && Math.max(...last) > 50 * Math.min(...last);
}

const lastIndex = y => { for (let i = y.length - 1; i >= 0; i--) if (y[i] !== null && y[i] !== undefined) return i; return -1; };
