// Histograms over time as a heat map: time to the right, sizes upwards, the darker the more weights.
import { h, num, say } from './page.js';
import { ticks, tick } from './chart.js';

const left = 58, right = 10, top = 8, bottom = 34, height = 260;

// fromSizes makes columns from the server's histograms of a network's weights: counts in half octaves of |w|.
export function fromSizes(sizes, over, range) {
  const [lo, hi] = range || sizeRange(sizes), bins = Math.round(2 * (hi - lo)), share = [];
  for (const s of sizes) {
    const total = s.counts.reduce((a, b) => a + b, s.below) || 1, column = new Array(bins).fill(0);
    s.counts.forEach((n, k) => { const j = Math.round(2 * (s.from - lo)) + k; if (j >= 0 && j < bins) column[j] += n / total; });
    share.push(column);
  }
  return { over, label: '|w|', log: true, at: sizes.map(s => s.at), share, edges: Array.from({ length: bins + 1 }, (_, k) => 2 ** (lo + k / 2)) };
}

// sizeRange is the range of log₂ |w| that holds all but the smallest 0.2 % of each histogram.
export function sizeRange(sizes) {
  let lo = Infinity, hi = -Infinity;
  for (const s of sizes) {
    let rest = s.counts.reduce((a, b) => a + b, s.below) / 500;
    const k = s.counts.findIndex(n => (rest -= n) < 0);
    if (k >= 0) lo = Math.min(lo, s.from + k / 2);
    hi = Math.max(hi, s.from + s.counts.length / 2);
  }
  return lo < hi ? [lo, hi] : [-1, 1];
}

// fromBins makes columns of equal bins from 0 to a limit.
export function fromBins(a) {
  const keep = a.at.map((t, k) => k).filter(k => a.over !== 'step' || a.at[k] > 0), n = a.share[0].length;
  return { over: a.over, label: a.label, log: false, at: keep.map(k => a.at[k]), share: keep.map(k => a.share[k]), edges: Array.from({ length: n + 1 }, (_, k) => a.limit * k / n) };
}

// Heat is one such map; set gives it newer columns.
export class Heat {
  constructor(title, color, explained = true) {
    this.color = color; this.at = null;
    this.canvas = h('canvas', { class: 'heat', tabindex: 0, role: 'img', onpointermove: e => this.point(e), onpointerleave: () => this.leave(), onkeydown: e => this.key(e), onblur: () => this.leave() });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.caption = h('figcaption', { class: 'small soft', hidden: !explained });
    this.card = h('figure', { class: 'card', 'aria-label': title }, h('header', {}, h('h3', {}, title)), h('div', { class: 'chart' }, this.canvas, this.tip), this.caption);
    new ResizeObserver(() => this.later()).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.later());
  }

  set(a) {
    this.a = a;
    this.caption.textContent = `Each column is a histogram of ${a.label} at one ${a.over}: the stronger the colour, the more weights have that size.`;
    this.canvas.setAttribute('aria-label', `Sizes of the weights, ${a.label}, from ${a.over} ${num(a.at[0])} to ${num(a.at[a.at.length - 1])}. At the end ${this.median(a.at.length - 1)}. Arrow keys read other times.`);
    this.later();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  scales() {
    const a = this.a, n = a.at.length, width = this.canvas.clientWidth || 800, logX = a.over === 'step';
    const f = logX ? Math.log : v => v, g = a.log ? Math.log : v => v, half = n > 1 && !logX ? (a.at[n - 1] - a.at[0]) / (n - 1) / 2 : 0;
    let x0 = f(a.at[0]) - half, x1 = f(a.at[n - 1]) + half;
    if (!(x1 > x0)) { x0 -= 0.5; x1 += 0.5; }
    const y0 = g(a.edges[0]), y1 = g(a.edges[a.edges.length - 1]);
    return { width, logX, x0, x1, X: v => left + (width - left - right) * (f(v) - x0) / (x1 - x0), Y: v => height - bottom - (height - top - bottom) * (g(v) - y0) / (y1 - y0) };
  }

  draw() {
    const a = this.a;
    if (!a || !a.at.length) return;
    const s = this.s = this.scales(), ratio = devicePixelRatio || 1, canvas = this.canvas, g = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
    canvas.width = s.width * ratio; canvas.height = height * ratio; canvas.style.height = height + 'px';
    g.scale(ratio, ratio);
    const most = Math.max(...a.share.map(c => Math.max(...c))), n = a.at.length, end = s.width - right, snap = v => Math.round(v * ratio) / ratio; // no seams between cells
    g.fillStyle = this.color[matchMedia('(prefers-color-scheme: dark)').matches ? 1 : 0];
    a.share.forEach((column, k) => {
      const x = s.X(a.at[k]), from = s.logX ? x : k ? (x + s.X(a.at[k - 1])) / 2 : left, to = k + 1 === n ? end : s.logX ? s.X(a.at[k + 1]) : (x + s.X(a.at[k + 1])) / 2;
      column.forEach((v, j) => { if (v > 0) { const y = snap(s.Y(a.edges[j + 1])); g.globalAlpha = Math.sqrt(v / most); g.fillRect(snap(from), y, Math.max(1 / ratio, snap(to) - snap(from)), snap(s.Y(a.edges[j])) - y); } });
    });
    g.globalAlpha = 1;
    g.fillStyle = g.strokeStyle = style.getPropertyValue('--soft'); g.font = '12px system-ui, sans-serif'; g.lineWidth = 1;
    g.strokeRect(left, top, end - left, height - top - bottom);
    g.textAlign = 'center';
    for (const v of ticks(s.logX ? a.at[0] : s.x0, s.logX ? a.at[n - 1] : s.x1, s.logX, Math.max(3, Math.min(8, s.width / 80))).filter(v => a.over !== 'epoch' || Number.isInteger(v))) g.fillText(tick(v), s.X(v), height - bottom + 15);
    g.fillText(a.over, (left + end) / 2, height - 4);
    g.textAlign = 'right';
    for (const v of ticks(a.edges[0], a.edges[a.edges.length - 1], a.log, 5)) g.fillText(tick(v), left - 6, s.Y(v) + 4);
    g.save(); g.translate(12, (height - bottom + top) / 2); g.rotate(-Math.PI / 2); g.textAlign = 'center'; g.fillText(a.label, 0, 0); g.restore();
    if (this.at !== null) { const x = s.X(a.at[Math.min(this.at, n - 1)]); g.setLineDash([2, 3]); g.beginPath(); g.moveTo(x, top); g.lineTo(x, height - bottom); g.stroke(); }
  }

  // median is the size below which half of the weights of a column lie.
  median(k) {
    const a = this.a, column = a.share[k], sum = column.reduce((x, y) => x + y, 0);
    let seen = 1 - sum; // what is smaller than the first bin
    for (let j = 0; j < column.length; j++) if ((seen += column[j]) >= 0.5) return `half of the weights are below ${num(a.edges[j + 1])}`;
    return '';
  }

  point(e) {
    if (!this.s) return;
    const r = this.canvas.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
    let k = 0;
    this.a.at.forEach((t, j) => { if (Math.abs(this.s.X(t) - px) < Math.abs(this.s.X(this.a.at[k]) - px)) k = j; });
    const bin = this.a.share[k].findIndex((_, j) => py >= this.s.Y(this.a.edges[j + 1]) && py <= this.s.Y(this.a.edges[j]));
    this.show(k, bin);
  }

  key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key], last = this.a.at.length - 1;
    if (e.key === 'Escape') return this.leave();
    if (!step) return;
    e.preventDefault();
    this.show(Math.max(0, Math.min(last, (this.at === null ? (step > 0 ? -1 : last + 1) : this.at) + step)), -1);
    say(`${this.a.over} ${num(this.a.at[this.at])}: ${this.median(this.at)}`);
  }

  show(k, bin) {
    const a = this.a;
    this.at = k;
    this.draw();
    this.tip.replaceChildren(h('div', { class: 'soft' }, `${a.over} ${num(a.at[k])}`), bin >= 0 ? h('div', {}, `${num(a.edges[bin])} to ${num(a.edges[bin + 1])}: ${num(100 * a.share[k][bin])} %`) : null, h('div', {}, this.median(k)));
    this.tip.hidden = false;
    const x = this.s.X(a.at[k]), width = this.tip.offsetWidth;
    this.tip.style.left = Math.max(0, x + 12 + width > this.s.width ? x - 12 - width : x + 12) + 'px';
    this.tip.style.top = '14px';
  }

  leave() { if (this.at === null) return; this.at = null; this.tip.hidden = true; this.draw(); }
}
