// What a reader chose for all charts of a page: the axis, its scale, smoothing, the part that is shown. The address keeps it, so that a link shows the same.
import { h } from './page.js';

const params = new URLSearchParams(location.search), listeners = [], number = key => params.has(key) && Number.isFinite(Number(params.get(key))) ? Number(params.get(key)) : null;

// view has the choices; null is what each chart does by itself.
export const view = {
  x: params.get('x'),
  logX: params.has('logx') ? params.get('logx') === '1' : null,
  smooth: Math.min(0.99, Math.max(0, number('smooth') || 0)),
  by: params.get('by'),
  logY: new Map([...params.getAll('log').map(t => [t, true]), ...params.getAll('linear').map(t => [t, false])]), // by title of the chart
  hide: new Set(params.getAll('hide')), // groups of a comparison, by name
};

// axes are the axes of the charts of a page, by name. Charts of one axis are zoomed together, and share a cross-hair.
const axes = new Map(), first = number('from') !== null && number('to') > number('from') ? [number('from'), number('to')] : null;
let zoomed = false;

export function axisOf(name) {
  if (!axes.has(name)) axes.set(name, { name, charts: new Set(), at: null, zoom: null });
  return axes.get(name);
}

// begin gives the axis of the page the part that the address names.
export function begin(name) {
  if (!zoomed && first && measured(name)) axisOf(name).zoom = first;
  zoomed = true;
}

// measured reports whether an axis is one that the page can change.
export const measured = name => ['step', 'epoch', 'time'].includes(name);

// changed tells who listens what was changed, x, zoom, by or look, and keeps the choices in the address soon: browsers allow some hundred changes of it a minute, and a slider makes more.
let writing = null;

export function changed(what) {
  if (!writing) writing = setTimeout(() => { writing = null; write(); }, 150);
  for (const a of axes.values()) for (const c of a.charts) c.later();
  for (const f of listeners) f(what);
}

function write() {
  const p = new URLSearchParams(location.search), put = (key, v) => { p.delete(key); for (const one of [v].flat()) if (one !== null && one !== undefined && one !== '') p.append(key, one); };
  put('x', view.x);
  put('logx', view.logX === null ? null : view.logX ? '1' : '0');
  put('smooth', view.smooth ? String(view.smooth) : null);
  put('by', view.by);
  put('log', [...view.logY].filter(([, v]) => v).map(([t]) => t));
  put('linear', [...view.logY].filter(([, v]) => !v).map(([t]) => t));
  put('hide', [...view.hide]);
  const of = [...axes.values()].find(a => a.zoom && measured(a.name));
  put('from', of ? String(of.zoom[0]) : null);
  put('to', of ? String(of.zoom[1]) : null);
  history.replaceState(history.state, '', location.pathname + '?' + p.toString() + location.hash);
}

export const listen = f => listeners.push(f);

export function zoomTo(axis, range) {
  axis.zoom = range;
  changed('zoom');
}

// toolbar has the controls of a page's charts: over is what they can be drawn over, x what they are drawn over, logX whether that is logarithmic; more are controls of the page's own.
export function toolbar({ over, x, logX, more = [] }) {
  const axis = h('select', { id: 'over', onchange: () => { view.x = axis.value; view.logX = null; for (const a of axes.values()) a.zoom = null; changed('x'); } }, over.map(o => h('option', { value: o, selected: o === x }, o)));
  const log = h('input', { type: 'checkbox', id: 'logx', checked: view.logX === null ? logX : view.logX, onchange: () => { view.logX = log.checked; changed('look'); } });
  const shown = h('output', { for: 'smooth' }), write = () => { shown.textContent = view.smooth ? view.smooth.toFixed(2) : 'off'; smooth.setAttribute('aria-valuetext', shown.textContent); };
  const smooth = h('input', { type: 'range', id: 'smooth', min: 0, max: 0.99, step: 0.01, value: view.smooth, oninput: () => { view.smooth = Number(smooth.value); write(); changed('look'); } });
  const reset = h('button', { type: 'button', id: 'reset-zoom', hidden: true, onclick: () => { for (const a of axes.values()) a.zoom = null; changed('zoom'); } }, 'Reset zoom');
  const look = () => { reset.hidden = ![...axes.values()].some(a => a.zoom); };
  listen(look);
  write();
  look();
  const bar = h('div', { class: 'toolbar', role: 'group', 'aria-label': 'All charts' },
    over.length ? h('label', {}, 'x ', axis) : null, over.length ? h('label', {}, log, ' log x') : null, h('label', { class: 'smooth' }, 'smoothing ', smooth, ' ', shown), ...more, reset,
    h('span', { class: 'soft small hint' }, 'Drag over a chart to zoom; double click shows all.'));
  bar.over = (choices, now, isLog) => { // what can be chosen now
    axis.replaceChildren(...choices.map(o => h('option', { value: o, selected: o === now }, o)));
    axis.disabled = choices.length < 2;
    log.checked = view.logX === null ? isLog : view.logX;
    look();
  };
  axis.disabled = over.length < 2;
  return bar;
}
