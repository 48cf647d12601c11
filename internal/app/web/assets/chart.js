// A chart of curves with a band each, in SVG: axes, a cross-hair for mouse and keyboard, the numbers as text.
import { h, num, say } from './page.js';

const W = 460, H = 250, left = 70, right = 12, top = 10, bottom = 34;

// Chart draws series: [{name, color: [light, dark], x, y, low, high}].
export class Chart {
  constructor({ title, x, y, logX = false, logY = false, links = [] }) {
    this.title = title; this.xName = x; this.yName = y; this.logX = logX; this.logY = logY; this.series = []; this.at = null;
    this.box = h('div', { class: 'chart' });
    this.scale = h('button', { class: 'plain', type: 'button', 'aria-pressed': String(logY), onclick: () => { this.logY = !this.logY; this.scale.setAttribute('aria-pressed', String(this.logY)); this.draw(); } }, 'log');
    this.table = h('details', {}, h('summary', {}, 'Numbers'));
    this.table.addEventListener('toggle', () => this.fill());
    this.card = h('section', { class: 'card', 'aria-label': title }, h('header', {}, h('h3', {}, title), h('span', {}, this.scale, ...links)), this.box, this.table);
  }

  set(series) { this.series = series; this.later(); }

  // later draws before the next frame, however many changes come until then.
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); if (this.table.open) this.fill(); });
  }

  // scales maps the ranges of what can be shown to the frame.
  scales() {
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    const ok = v => Number.isFinite(v) && Math.abs(v) < 1e300; // ranges of larger numbers overflow
    const okX = v => ok(v) && (!this.logX || v > 1e-300), okY = v => ok(v) && (!this.logY || v > 1e-300);
    for (const s of this.series) for (let i = 0; i < s.x.length; i++) {
      if (!okX(s.x[i]) || !okY(s.y[i])) continue;
      x0 = Math.min(x0, s.x[i]); x1 = Math.max(x1, s.x[i]);
      for (const v of [s.y[i], s.low && s.low[i], s.high && s.high[i]]) if (v !== undefined && okY(v)) { y0 = Math.min(y0, v); y1 = Math.max(y1, v); }
    }
    if (x0 > x1) { x0 = this.logX ? 1 : 0; x1 = this.logX ? 10 : 1; y0 = this.logY ? 0.1 : 0; y1 = this.logY ? 10 : 1; }
    if (x0 === x1) { x0 = this.logX ? x0 / 2 : x0 - 1; x1 = this.logX ? x1 * 2 : x1 + 1; }
    if (y0 === y1) { y0 = this.logY ? y0 / 2 : y0 - Math.max(Math.abs(y0), 1) / 2; y1 = this.logY ? y1 * 2 : y1 + Math.max(Math.abs(y1), 1) / 2; }
    const map = (a, b, log, from, to) => {
      const f = log ? Math.log : v => v, fa = f(a), fb = f(b);
      return v => from + (to - from) * (f(v) - fa) / (fb - fa);
    };
    return { okX, okY, x0, x1, y0, y1, X: map(x0, x1, this.logX, left, W - right), Y: map(y0, y1, this.logY, H - bottom, top) };
  }

  draw() {
    const s = this.s = this.scales();
    const parts = [];
    for (const v of ticks(s.x0, s.x1, this.logX, 6).filter(v => this.xName !== 'epoch' || Number.isInteger(v))) {
      const x = s.X(v);
      parts.push(h('line', { class: 'grid', x1: x, x2: x, y1: top, y2: H - bottom }), h('text', { x, y: H - bottom + 15, 'text-anchor': 'middle' }, tick(v)));
    }
    for (const v of ticks(s.y0, s.y1, this.logY, 5)) {
      const y = s.Y(v);
      parts.push(h('line', { class: 'grid', x1: left, x2: W - right, y1: y, y2: y }), h('text', { x: left - 6, y: y + 4, 'text-anchor': 'end' }, tick(v)));
    }
    parts.push(h('line', { class: 'axis', x1: left, x2: W - right, y1: H - bottom, y2: H - bottom }), h('line', { class: 'axis', x1: left, x2: left, y1: top, y2: H - bottom }),
      h('text', { x: (left + W - right) / 2, y: H - 4, 'text-anchor': 'middle' }, this.xName),
      h('text', { x: 11, y: (top + H - bottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 11 ${(top + H - bottom) / 2})` }, this.yName));
    for (const c of this.series) if (c.low && c.low.length) {
      const floor = v => this.logY && v <= 0 ? s.y0 : v; // what a logarithmic axis cannot show goes to its end
      const there = c.x.map((x, i) => i).filter(i => s.okX(c.x[i]) && Number.isFinite(c.low[i]) && s.okY(c.high[i]));
      const d = there.map((i, k) => (k ? 'L' : 'M') + point(s, c.x[i], c.high[i])).join('') + there.reverse().map(i => 'L' + point(s, c.x[i], floor(c.low[i]))).join('') + 'Z';
      if (there.length > 1) parts.push(h('path', { class: 'band', color: c.color, d }));
    }
    for (const c of this.series) {
      let d = '', pen = false, lone = [], seen = [];
      for (let i = 0; i < c.x.length; i++) {
        if (c.y[i] === null) continue; // a line without this number
        if (!s.okX(c.x[i]) || !s.okY(c.y[i])) { pen = false; continue; }
        d += (pen ? 'L' : 'M') + point(s, c.x[i], c.y[i]);
        pen = true;
        seen.push(i);
      }
      if (seen.length && seen.every(i => c.x[i] === c.x[seen[0]])) lone = seen.slice(-1); // no line to draw
      parts.push(h('path', { class: 'curve dash' + (c.dash || 0), color: c.color, d }), ...lone.map(i => h('circle', { class: 'mark', color: c.color, cx: s.X(c.x[i]), cy: s.Y(c.y[i]), r: 4 })));
    }
    this.cross = h('g', {});
    parts.push(this.cross);
    const focused = this.svg && document.activeElement === this.svg;
    this.svg = h('svg', { viewBox: `0 0 ${W} ${H}`, tabindex: 0, role: 'img', 'aria-label': this.summary(), onpointermove: e => this.point(e), onpointerleave: () => this.leave(), onkeydown: e => this.key(e), onblur: () => this.leave() }, parts);
    this.tip = h('div', { class: 'tip', hidden: true });
    this.box.replaceChildren(this.svg, this.tip);
    if (focused) this.svg.focus();
    if (this.at !== null) this.show(this.at);
  }

  summary() {
    const ends = this.series.slice(0, 6).map(s => { const k = lastIndex(s.y); return k < 0 ? null : `${s.name || this.yName} ${num(s.y[k])} at ${this.xName} ${num(s.x[k])}`; }).filter(Boolean);
    return `${this.title}. ${ends.join('; ')}. Arrow keys read values.`;
  }

  point(e) {
    const r = this.svg.getBoundingClientRect();
    const px = (e.clientX - r.left) * W / r.width;
    let best = null, near = Infinity;
    for (const s of this.series) for (let i = 0; i < s.x.length; i++) {
      if (!this.s.okX(s.x[i]) || !this.s.okY(s.y[i])) continue;
      const d = Math.abs(this.s.X(s.x[i]) - px);
      if (d < near) { near = d; best = s.x[i]; }
    }
    if (best !== null) this.show(best);
  }

  key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
    if (e.key === 'Escape') return this.leave();
    if (!step) return;
    e.preventDefault();
    const longest = this.series.reduce((a, s) => s.x.length > a.length ? s.x : a, []).filter(this.s.okX);
    if (!longest.length) return;
    let k = this.at === null ? (step > 0 ? -1 : longest.length) : longest.findIndex(v => v >= this.at);
    k = Math.max(0, Math.min(longest.length - 1, k + step));
    this.show(longest[k], true);
  }

  // show puts the cross-hair at x and writes what the curves are there.
  show(x, aloud) {
    this.at = x;
    const px = this.s.X(x), rows = [], marks = [h('line', { class: 'cross', x1: px, x2: px, y1: top, y2: H - bottom })];
    for (const s of this.series) {
      let k = -1, near = Infinity;
      for (let i = 0; i < s.x.length; i++) if (s.y[i] !== null && Math.abs(s.x[i] - x) < near) { near = Math.abs(s.x[i] - x); k = i; }
      if (k < 0 || near > 0.05 * Math.max(Math.abs(x), 1e-300) && near > 0.6) continue;
      rows.push([s, s.y[k]]);
      if (this.s.okX(s.x[k]) && this.s.okY(s.y[k])) marks.push(h('circle', { class: 'mark', color: s.color, cx: this.s.X(s.x[k]), cy: this.s.Y(s.y[k]), r: 4 }));
    }
    this.cross.replaceChildren(...marks);
    this.tip.replaceChildren(h('div', { class: 'soft' }, `${this.xName} ${num(x)}`), ...rows.slice(0, 12).map(([s, v]) => h('div', {}, h('span', { class: 'dot', color: s.color }), `${s.name ? s.name + ': ' : ''}${num(v)}`)));
    this.tip.hidden = false;
    const share = px / W * this.box.clientWidth, width = this.tip.offsetWidth;
    this.tip.style.left = Math.max(0, share + 12 + width > this.box.clientWidth ? share - 12 - width : share + 12) + 'px';
    this.tip.style.top = '14px';
    if (aloud) say(`${this.xName} ${num(x)}: ` + rows.map(([s, v]) => `${s.name || this.yName} ${num(v)}`).join(', '));
  }

  leave() { this.at = null; if (this.cross) this.cross.replaceChildren(); if (this.tip) this.tip.hidden = true; }

  // fill writes the numbers as a table, some thirty rows of each curve.
  fill() {
    if (!this.table.open) return;
    const rows = [];
    for (const s of this.series) {
      const every = Math.max(1, Math.ceil(s.x.length / 30));
      for (let i = 0; i < s.x.length; i++) if (i % every === 0 || i === s.x.length - 1) rows.push(h('tr', {}, h('td', {}, s.name || this.title), h('td', { class: 'n' }, num(s.x[i])), h('td', { class: 'n' }, num(s.y[i]))));
    }
    this.table.replaceChildren(this.table.firstChild, h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, ''), h('th', { class: 'n' }, this.xName), h('th', { class: 'n' }, this.yName))), h('tbody', {}, rows))));
  }
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

const point = (s, x, y) => s.X(x).toFixed(1) + ' ' + s.Y(y).toFixed(1);
const lastIndex = y => { for (let i = y.length - 1; i >= 0; i--) if (y[i] !== null) return i; return -1; };

// ticks are round numbers, powers of ten on a logarithmic axis that has two of them.
export function ticks(a, b, log, n) {
  if (log) {
    const lo = Math.ceil(Math.log10(a) - 1e-9), hi = Math.floor(Math.log10(b) + 1e-9), out = [];
    if (hi - lo >= 1) {
      const every = Math.ceil((hi - lo + 1) / n);
      for (let e = lo; e <= hi; e += every) out.push(10 ** e);
      return out;
    }
  }
  const raw = (b - a) / n, p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map(m => m * p).find(v => v >= raw) || raw, out = [];
  for (let v = Math.ceil(a / step) * step; v <= b + step * 1e-9 && out.length < 20; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

export function tick(v) {
  const a = Math.abs(v);
  if (v === 0) return '0';
  if (a >= 1e5 || a < 1e-3) return v.toExponential(Math.abs(a / 10 ** Math.floor(Math.log10(a) + 1e-9) - 1) < 1e-6 ? 0 : 1).replace('e+', 'e').replaceAll('-', '−');
  return String(Number(v.toPrecision(6))).replace('-', '−');
}
