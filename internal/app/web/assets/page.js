// What all pages need: elements, requests, numbers as text.

export const main = () => document.getElementById('main');

// h makes an element. Texts are always text, never markup.
export function h(tag, attributes = {}, ...children) {
  const el = ['svg', 'g', 'path', 'line', 'rect', 'circle', 'text', 'polyline'].includes(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
    else if (k === 'color') { el.style.setProperty('--l', v[0]); el.style.setProperty('--d', v[1]); }
    else el.setAttribute(k, v === true ? '' : v);
  }
  for (const c of children.flat()) if (c !== null && c !== undefined && c !== false) el.append(c);
  return el;
}

// get asks the API; an error has the server's words.
export async function get(url) {
  const answer = await fetch(url, { headers: { Accept: 'application/json' } });
  return read(answer);
}

export async function post(url, body) {
  return read(await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }));
}

// parse reads JSON into objects without a prototype: a metric may be called toString.
export const parse = text => JSON.parse(text, (_, v) => v && typeof v === 'object' && !Array.isArray(v) ? Object.assign(Object.create(null), v) : v);

async function read(answer) {
  let body = null;
  try { body = parse(await answer.text()); } catch { /* not JSON */ }
  if (!answer.ok) throw Object.assign(new Error(body && body.error || `the server answered ${answer.status}`), { setting: body && body.setting });
  return body;
}

export function fail(err) {
  main().replaceChildren(h('h1', {}, 'This did not work'), h('p', { class: 'note bad', role: 'alert' }, err.message), h('p', {}, h('a', { href: '/' }, 'All runs')));
}

// say speaks to screen readers.
export const say = text => { document.getElementById('live').textContent = text; };

export const query = pairs => '?' + new URLSearchParams(pairs).toString();

// num writes a number in about four digits.
export function num(v) {
  if (v === null || v === undefined) return '–';
  const a = Math.abs(v);
  if (v === 0) return '0';
  if (Number.isInteger(v) && a < 1e12) return a < 1e4 ? String(v).replace('-', '−') : v.toLocaleString('en').replace('-', '−');
  if (a >= 1e6 || a < 1e-3) return v.toExponential(2).replace('e+', 'e').replace('-', '−');
  return String(Number(v.toPrecision(4))).replace('-', '−');
}

export const percent = v => v === null || v === undefined ? '–' : (100 * v).toFixed(2) + ' %';

// plural writes a count with its noun: 1 run, 2 runs.
export const plural = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

export function time(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 10) return seconds.toFixed(seconds < 1 ? 2 : 1) + ' s';
  if (seconds < 120) return Math.round(seconds) + ' s';
  const m = Math.floor(seconds / 60);
  return m < 120 ? `${m} min ${Math.round(seconds % 60)} s` : `${Math.floor(m / 60)} h ${m % 60} min`;
}

export function bytes(n) {
  for (const unit of ['B', 'kB', 'MB', 'GB']) {
    if (n < 1000 || unit === 'GB') return (unit === 'B' ? n : n.toPrecision(3)) + ' ' + unit;
    n /= 1000;
  }
}

export const date = text => text ? new Date(text).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }) : '–';

export const name = id => id.slice(id.lastIndexOf('/') + 1);

export function ps(p) {
  if (!p || !p.length) return '–';
  const all = p.map(v => v === null ? '∞' : v);
  return all.length > 4 ? `${all[0]} … ${all[all.length - 1]}` : all.join(', ');
}

export const status = s => h('span', { class: 'status ' + s }, s);

// settle writes settings in one line.
export const settle = settings => Object.entries(settings).map(([k, v]) => `${k.replaceAll('_', ' ')} = ${v}`).join(', ');

// toast shows what was done, with a button that undoes it, until something else is done or half a minute has passed.
export function toast(text, undo) {
  const old = document.getElementById('toast');
  if (old) old.remove();
  const close = () => { el.remove(); };
  const el = h('div', { id: 'toast', role: 'status' }, h('span', {}, text), undo ? h('button', { id: 'undo', onclick: async () => { close(); try { await undo(); say('Undone'); } catch (err) { toast(err.message); } } }, 'Undo') : null, h('button', { class: 'plain', 'aria-label': 'Close', onclick: close }, '✕'));
  document.body.append(el);
  setTimeout(close, 30_000);
}

// meaning is a "?" beside the title of a measure, and the sentence that it shows.
export function meaning(title, explain) {
  if (!explain) return { button: null, text: null };
  const text = h('p', { class: 'small meaning', hidden: true }, explain + ' ', h('a', { href: '/help/measures' }, 'What the numbers mean'));
  const button = h('button', { type: 'button', class: 'why', 'aria-expanded': 'false', 'aria-label': 'What is ' + title + '?', onclick: () => { text.hidden = !text.hidden; button.setAttribute('aria-expanded', String(!text.hidden)); } }, '?');
  return { button, text };
}
