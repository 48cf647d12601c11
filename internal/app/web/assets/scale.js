// Numbers on an axis: what can be shown, round ones for ticks, smoothing, the part of a curve inside a window.
import { time } from './page.js';

// shown reports whether an axis can show a number. Ranges of larger ones overflow.
export const shown = (v, log) => typeof v === 'number' && Math.abs(v) < 1e300 && (!log || v > 1e-300);

// decade is the least range of a logarithmic axis: within less, ticks of equal distance say more.
export const decade = (lo, hi) => lo > 0 && hi >= 10 * lo;

// scaleOf maps [lo, hi] to [0, 1]; from is the way back.
export function scaleOf(lo, hi, log) {
  const f = log ? Math.log : v => v, a = f(lo), b = f(hi);
  return { lo, hi, log, f, to: v => (f(v) - a) / (b - a), from: u => log ? Math.exp(a + u * (b - a)) : a + u * (b - a) };
}

// cut returns a curve inside of [0, 1] of a scale: places and f of values, straight lines cut where they leave it, NaN where the curve has a gap. Values that are null have no point and no gap.
export function cut(x, y, scale, log) {
  const us = [], vs = [], f = log ? Math.log : v => v;
  let pu = NaN, pv = NaN;
  for (let i = 0; i < x.length; i++) {
    if (y[i] === null || y[i] === undefined) continue;
    const u = shown(x[i], scale.log) ? scale.to(x[i]) : NaN, v = shown(y[i], log) ? f(y[i]) : NaN;
    if (Number.isNaN(u) || Number.isNaN(v)) { us.push(NaN); vs.push(NaN); pu = pv = NaN; continue; }
    if (pu < 0 && u > 0) { us.push(0); vs.push(pv + (v - pv) * (0 - pu) / (u - pu)); }
    if (pu < 1 && u > 1) { us.push(1); vs.push(pv + (v - pv) * (1 - pu) / (u - pu)); }
    if (u >= 0 && u <= 1) { us.push(u); vs.push(v); }
    pu = u; pv = v;
  }
  return { us, vs };
}

// smoothed is the exponential moving average of a curve, without the pull to 0 at its start.
export function smoothed(y, weight) {
  let sum = 0, n = 0;
  return y.map(v => {
    if (!shown(v)) return v;
    sum = weight * sum + (1 - weight) * v;
    n++;
    return sum / (1 - weight ** n);
  });
}

// nearest is the place of the point of a curve that is nearest to x among those with a value, −1 without any. x is sorted.
export function nearest(xs, ys, x) {
  let lo = 0, hi = xs.length - 1;
  while (lo < hi) { const m = (lo + hi) >> 1; if (xs[m] < x) lo = m + 1; else hi = m; }
  let a = lo - 1, b = lo;
  while (a >= 0 && (ys[a] === null || ys[a] === undefined)) a--;
  while (b < xs.length && (ys[b] === null || ys[b] === undefined)) b++;
  if (a < 0) return b < xs.length ? b : -1;
  return b < xs.length && Math.abs(xs[b] - x) < Math.abs(xs[a] - x) ? b : a;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400]; // of seconds

// ticks are about n round numbers. On a logarithmic axis that spans a decade or more they are at least four, 1-2-5 or powers of ten; of is what the axis counts: there are no half epochs, and minutes have 60 seconds.
export function ticks(a, b, log, n, of = '') {
  if (log && decade(a, b)) return logTicks(a, b, n);
  const raw = (b - a) / n, p = 10 ** Math.floor(Math.log10(raw)), round = of === 'time' && b - a >= 4 ? [...steps] : [p / 2, p, 2 * p, 5 * p, 10 * p];
  if (of === 'time') while (round[round.length - 1] < raw) round.push(2 * round[round.length - 1]);
  const off = step => Math.abs(Math.floor(b / step + 1e-9) - Math.ceil(a / step - 1e-9) + 1 - n);
  const k = round.reduce((best, step, i) => off(step) <= off(round[best]) ? i : best, 0);
  const step = of === 'epoch' || of === 'step' ? Math.max(1, round[k]) : round[k], out = [];
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + step * 1e-9 && out.length < 30; i++) out.push(Math.abs(i * step) < step * 1e-9 ? 0 : Number((i * step).toPrecision(12)));
  return out;
}

function logTicks(a, b, n) {
  const lo = Math.floor(Math.log10(a) - 1e-9), hi = Math.ceil(Math.log10(b) + 1e-9);
  const some = (digits, every) => {
    const out = [];
    for (let e = Math.ceil(lo / every) * every; e <= hi; e += every) for (const d of digits) { const v = Number(`${d}e${e}`); if (v >= a * (1 - 1e-9) && v <= b * (1 + 1e-9)) out.push(v); }
    return out;
  };
  let last = null;
  for (const [digits, every] of [[[1, 2, 3, 4, 5, 6, 7, 8, 9], 1], [[1, 2, 3, 5, 7], 1], [[1, 2, 5], 1], ...[1, 2, 3, 5, 10, 20, 25, 50, 100].map(every => [[1], every])]) {
    const out = some(digits, every);
    if (out.length < 4) break;
    last = out;
    if (out.length <= n + 1) break;
  }
  return last || some([1, 2, 3, 4, 5, 6, 7, 8, 9], 1);
}

export function tick(v, of = '') {
  const a = Math.abs(v);
  if (v === 0) return '0';
  if (of === 'time') return a < 60 ? `${Number(v.toPrecision(6))} s` : a < 7200 ? `${Number((v / 60).toPrecision(4))} min` : `${Number((v / 3600).toPrecision(4))} h`;
  if (a >= 1e5 || a < 1e-3) return v.toExponential(Math.abs(a / 10 ** Math.floor(Math.log10(a) + 1e-9) - 1) < 1e-6 ? 0 : 1).replace('.0e', 'e').replace('e+', 'e').replaceAll('-', '−');
  return String(Number(v.toPrecision(6))).replace('-', '−');
}

// place writes a place on an axis in words.
export const place = (x, of, num) => of === 'time' ? `time ${time(x)}` : `${of} ${num(x)}`;

// shade is one of three strengths of a colour, [light, dark]: as it is, paler, stronger.
export function shade(color, k) {
  if (!k) return color;
  const mix = (c, to, share) => '#' + [1, 3, 5].map(i => Math.round(parseInt(c.slice(i, i + 2), 16) * (1 - share) + to * share).toString(16).padStart(2, '0')).join('');
  return k === 1 ? [mix(color[0], 255, 0.42), mix(color[1], 0, 0.42)] : [mix(color[0], 0, 0.45), mix(color[1], 255, 0.55)];
}
