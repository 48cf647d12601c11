// The trajectory of a fit's weights in R²: the decision line over the data, the iterate over the weights, with a slider over log t.
import { h, num } from './page.js';
import { ticks, tick } from './chart.js';

const S = 360, pad = 34;

// frame draws axes of a square and returns the maps of both axes. The square is [−reach, reach]², or [lo, hi] of each axis at one scale.
function frame(cx, cy, half, xName, yName) {
  const X = v => S / 2 + (v - cx) / half * (S / 2 - pad), Y = v => S / 2 - (v - cy) / half * (S / 2 - pad);
  const parts = [h('rect', { x: pad, y: pad, width: S - 2 * pad, height: S - 2 * pad, fill: 'none', stroke: 'currentColor', 'stroke-opacity': 0.25 })];
  for (const v of ticks(cx - half, cx + half, false, 4)) parts.push(h('text', { x: X(v), y: S - pad + 15, 'text-anchor': 'middle' }, tick(v)));
  for (const v of ticks(cy - half, cy + half, false, 4)) parts.push(h('text', { x: pad - 5, y: Y(v) + 4, 'text-anchor': 'end' }, tick(v)));
  parts.push(h('text', { x: S / 2, y: S - 3, 'text-anchor': 'middle' }, xName), h('text', { x: 9, y: S / 2, 'text-anchor': 'middle', transform: `rotate(-90 9 ${S / 2})` }, yName));
  return { X, Y, parts };
}

export function showPlane(a, color) {
  const n = a.step.length;
  const reach = 1.15 * Math.max(...a.x.flat().map(Math.abs));
  const data = frame(0, 0, reach, 'x₁', 'x₂');
  const all = a.w.filter(w => w[0] !== null), big = Math.max(1e-9, ...all.flat().map(Math.abs)) * 1.15;
  const way = frame(0, 0, big, 'w₁', 'w₂');
  const line = h('line', { class: 'line' }), arrow = h('line', { class: 'arrow', color }), tip = h('circle', { class: 'mark', color, r: 4 });
  const trail = h('polyline', { class: 'trail', color }), at = h('circle', { class: 'mark', color, r: 5 });
  const limits = [];
  if (a.u && a.u.length) {
    const l = Math.hypot(...a.u), u = a.u.map(v => v / l), p = clip([-u[1], u[0]], reach), b = clip(u, big);
    limits.push(h('line', { class: 'limit', x1: data.X(-p[0]), y1: data.Y(-p[1]), x2: data.X(p[0]), y2: data.Y(p[1]) }), h('line', { class: 'limit', x1: way.X(0), y1: way.Y(0), x2: way.X(b[0]), y2: way.Y(b[1]) }));
  }
  const dataSVG = h('svg', { viewBox: `0 0 ${S} ${S}`, role: 'img', 'aria-label': 'The examples and the decision line' }, data.parts, limits[0], a.x.map(x => h('circle', { class: 'pt', cx: data.X(x[0]), cy: data.Y(x[1]), r: 3.6 })), line, arrow, tip);
  const waySVG = h('svg', { viewBox: `0 0 ${S} ${S}`, role: 'img', 'aria-label': 'The weights and the max-margin direction' }, way.parts, limits[1], trail, at);
  const out = h('output', { for: 't', id: 'where' });
  const slider = h('input', { type: 'range', id: 't', min: 0, max: n - 1, step: 1, value: n - 1, 'aria-label': 'Step t, on a logarithmic scale', oninput: () => move(Number(slider.value)) });
  let timer = null;
  const play = h('button', { type: 'button', onclick: () => {
    if (timer) return stop();
    if (Number(slider.value) === n - 1) slider.value = 0;
    play.textContent = 'Pause';
    timer = setInterval(() => { const k = Number(slider.value) + 1; if (k >= n) return stop(); slider.value = k; move(k); }, 60);
  } }, 'Play');
  function stop() { clearInterval(timer); timer = null; play.textContent = 'Play'; }

  function move(k) {
    const w = a.w[k], size = Math.hypot(w[0], w[1]);
    const hide = !(size > 0);
    for (const el of [line, arrow, tip]) el.toggleAttribute('hidden', hide);
    if (!hide) {
      const d = [w[0] / size, w[1] / size], p = clip([-d[1], d[0]], reach), q = d.map(v => v * reach * 0.45);
      set(line, { x1: data.X(-p[0]), y1: data.Y(-p[1]), x2: data.X(p[0]), y2: data.Y(p[1]) });
      set(arrow, { x1: data.X(0), y1: data.Y(0), x2: data.X(q[0]), y2: data.Y(q[1]) });
      set(tip, { cx: data.X(q[0]), cy: data.Y(q[1]) });
    }
    set(trail, { points: a.w.slice(0, k + 1).filter(v => v[0] !== null).map(v => `${way.X(v[0]).toFixed(1)},${way.Y(v[1]).toFixed(1)}`).join(' ') });
    set(at, { cx: way.X(w[0]), cy: way.Y(w[1]) });
    const angle = a.angle[k] === null ? '' : `, ${num(a.angle[k] * 180 / Math.PI)}° from the limit`, margin = a.margin[k] === null ? '' : `, margin ${num(a.margin[k])}`;
    out.textContent = `t = ${a.step[k].toLocaleString('en')}${margin}${angle}`;
    slider.setAttribute('aria-valuetext', out.textContent);
  }
  move(n - 1);
  return [h('h2', {}, 'On its way to the max-margin line'),
    h('div', { class: 'slider' }, play, slider, out),
    h('div', { class: 'plane' },
      h('figure', { class: 'card' }, dataSVG, h('figcaption', { class: 'small soft' }, 'The examples, labels absorbed (y·x): the solid line decides, the arrow is its w; dashed, the exact ℓₚ max-margin line.')),
      h('figure', { class: 'card' }, waySVG, h('figcaption', { class: 'small soft' }, 'The iterate w up to step t, and the direction it tends to (dashed).'))),
    a.stopped ? h('p', { class: 'soft small' }, 'Recomputed as far as the time allowed.') : null].filter(Boolean);
}

// clip scales a direction to the edge of the square.
const clip = (d, reach) => { const m = Math.max(Math.abs(d[0]), Math.abs(d[1])); return d.map(v => v * reach / m); };

const set = (el, attributes) => { for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v); };
