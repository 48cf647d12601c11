// The curves of a run's page, which grow while it runs.
import { h, get, parse, num, percent, time, query } from './page.js';
import { Chart, dashes, sample as line, shade } from './chart.js';
import { axisOf, begin, listen, measured, toolbar, view } from './view.js';
import { Heat, fromSizes } from './heat.js';
import { showResults } from './tables.js';

const axis = { step: 'step', epoch: 'epoch', time: 'time', b: 'radius B of the ball', line: 'line' };
const logarithmic = x => x === 'step' || x === 'b';
const pairs = { loss: 'Loss', accuracy: 'Accuracy' }; // of training, with those of the test or the validation, in one chart
const sample = 800, refetch = 4000; // points a curve gets from the server, and may have before it is asked again

// Curves holds the charts of a run and adds what the server streams.
export class Curves {
  constructor(id, box, legend, note, numbers, s, result, results) {
    Object.assign(this, { id, box, legend, note, numbers, s, result, results, charts: new Map(), parts: new Map(), heats: new Map(), curves: [], fine: null, begin: performance.now() });
    listen(what => { if (what === 'x') this.load().catch(() => {}); if (what === 'zoom') this.refine(250); });
  }

  ask(...more) { return get('/api/metrics' + query([['id', this.id], ['points', sample], ...(view.x ? [['x', view.x]] : []), ...more])); }

  async load() {
    const asked = this.asked = {}, a = await this.ask();
    if (asked !== this.asked) return; // another answer is on its way
    this.offset = a.offset; this.curves = a.curves; this.metrics = a.metrics; this.rows = a.rows; this.fine = null;
    this.note.hidden = !a.note; this.note.textContent = a.note;
    if (this.results) this.results.replaceChildren(...showResults(a));
    this.control();
    this.draw();
    this.refine(0);
  }

  // over is the axis of the curves; all of a run have the same.
  get over() { return this.curves.length ? this.curves[0].x : 'line'; }
  get zoom() { return axisOf(axis[this.over]).zoom; }

  // refine asks for the points of the part that is shown, if there are more than the page has.
  refine(wait) {
    clearTimeout(this.soonFine);
    if (!this.zoom) { if (this.fine) { this.fine = null; this.draw(); } return; }
    if (this.rows <= sample) return;
    this.soonFine = setTimeout(async () => {
      const zoom = this.zoom;
      if (!zoom) return;
      const a = await this.ask(['from', zoom[0]], ['to', zoom[1]]).catch(() => null);
      if (a && zoom === this.zoom && a.curves.length && a.curves[0].x === this.over) { this.fine = a.curves; this.draw(); }
    }, wait);
  }

  // control shows the controls of all charts once there are curves.
  control() {
    if (!this.curves.length) return;
    const over = [...new Set(this.curves.flatMap(c => c.axes))].filter(measured), now = this.over;
    begin(axis[now]);
    if (this.bar) return this.bar.over(over, now, logarithmic(now));
    this.bar = toolbar({ over, x: now, logX: logarithmic(now) });
    this.box.prepend(this.bar);
  }

  // part is the grid of charts under a heading; they stand in this order. Few charts need one heading only.
  part(title) {
    if (!this.parts.size) for (const t of this.metrics.length > 8 ? ['Learning', 'Geometry', 'Rate and speed'] : ['Curves']) {
      const box = h('div', { hidden: true }, h('h2', {}, t), h('div', { class: 'charts' }));
      this.parts.set(t, box);
      this.box.append(box);
    }
    const box = this.parts.get(title) || this.parts.values().next().value;
    box.hidden = false;
    return box.lastChild;
  }

  // drawHeat shows how the weights of each curve are spread over time.
  drawHeat() {
    for (const c of this.curves) {
      if (!c.sizes || !c.sizes.length) continue;
      if (!this.heats.has(c.curve)) {
        const heat = new Heat('Sizes of the weights over time' + (c.name ? ', ' + c.name : ''), c.color);
        heat.card.classList.add('wide');
        this.heats.set(c.curve, heat);
        this.part('Geometry').prepend(heat.card);
      }
      this.heats.get(c.curve).set(fromSizes(c.sizes, axis[c.axes[0]] || c.axes[0]));
    }
  }

  // looks are colour and dash of each curve: up to three of one colour have its shades, more have dashes.
  looks() {
    const before = dashes(this.curves.map(c => c.color)), shades = Math.max(...before) < 3;
    return { shades, of: this.curves.map((c, k) => shades ? { color: shade(c.color, before[k]), dash: 0 } : { color: c.color, dash: before[k] }) };
  }

  // shown are the charts: each with its metrics. Training and test, or validation, are in one if dashes are free to tell them apart.
  shown(shades) {
    const have = name => this.metrics.find(m => m.name === name), joined = new Set(), out = [];
    for (const m of this.metrics) {
      if (joined.has(m.name)) continue;
      const others = shades && pairs[m.name] ? ['test', 'validation'].map(of => [of, have(`${of}_${m.name}`)]).filter(([, o]) => o) : [];
      others.forEach(([, o]) => joined.add(o.name));
      out.push({ name: m.name, m, title: others.length ? pairs[m.name] : m.title, of: others.length ? [...others, ['training', m]] : [['', m]] });
    }
    return out;
  }

  draw() {
    const { shades, of } = this.looks(), now = axis[this.over] || this.over, several = this.curves.length > 1;
    const styles = { test: {}, validation: { dash: 1 }, training: { dash: 2, thin: true }, '': {} };
    for (const [name, chart] of this.charts) if (!this.shown(shades).some(c => c.name === name && c.title === chart.title)) { this.charts.delete(name); chart.card.remove(); chart.drop(); }
    for (const c of this.shown(shades)) {
      if (!this.charts.has(c.name)) {
        const to = t => h('a', { class: 'plain', href: '/api/figure' + query([['run', this.id], ...c.of.map(([, m]) => ['metric', m.name]), ['to', t]]), download: '', 'aria-label': `${c.title} as ${t}` }, t);
        const chart = new Chart({ title: c.title, x: now, y: c.m.y, logX: logarithmic(this.over), logY: c.m.log, explain: c.m.explain, links: [to('svg'), to('png')] });
        if (c.of.length > 1) chart.key = c.of.map(([role]) => [styles[role].dash || 0, role]);
        this.charts.set(c.name, chart);
        this.part(c.m.part).append(chart.card);
      }
      const chart = this.charts.get(c.name);
      if (chart.axis.name !== now) chart.over(now, logarithmic(this.over));
      chart.set(c.of.flatMap(([role, m]) => this.curves.flatMap((curve, k) => {
        const from = this.zoom && this.fine && this.fine.find(f => f.curve === curve.curve) || curve, p = from.metrics[m.name];
        return p ? [{ name: [several ? curve.name : '', role].filter(Boolean).join(', '), ...of[k], ...styles[role], x: p.x, y: p.y.map(v => v === null ? null : v * m.scale) }] : [];
      })));
    }
    const legend = several && this.curves.length <= 12;
    this.legend.hidden = !legend;
    if (legend) this.legend.replaceChildren(...this.curves.map((c, k) => h('span', {}, line(of[k].color, of[k].dash), ' ' + c.name)));
    if (!this.metrics.length && !this.box.firstChild && this.s.status === 'running') this.box.append(h('p', { class: 'soft', id: 'none' }, 'No metrics yet.'));
    else if (this.metrics.length) { const none = document.getElementById('none'); if (none) none.remove(); }
    this.drawHeat();
    this.last();
  }

  // last shows the newest numbers, large: those of the model that a fit wrote, or of the end of a curve. The two are not of the same weights, as a fit may scale its model to margin 1.
  last() {
    const withLoss = this.curves.filter(c => c.metrics.loss), main = withLoss.length ? withLoss : this.curves; // layers have none
    const c = main[main.length - 1], several = main.length > 1, fit = this.s.command === 'fit' && this.result, items = [];
    const q = fit && (fit.test || fit.held_out), of = fit && fit.test ? 'test ' : 'held-out ';
    if (q) { // as the program prints them
      for (const [k, title, write] of [['accuracy', 'accuracy', percent], ['auc', 'AUC', num], ['log_loss', 'log-loss', num]]) if (q.classes && typeof q.classes[k] === 'number') items.push([of + title, write(q.classes[k])]);
      for (const [k, title] of [['r2', 'R²'], ['rmse', 'RMSE']]) if (q.targets) items.push([of + title, num(q.targets[k])]);
      if (typeof fit.train_accuracy === 'number') items.push(['training accuracy', percent(fit.train_accuracy)]);
      if (typeof fit.penalty === 'number') items.push(['penalty', num(fit.penalty)]);
    }
    if (fit || several && this.s.status === 'done') // of all curves together, as in the list
      for (const [key, title, write] of [['loss', 'loss', num], ...(q ? [] : [['accuracy', 'accuracy', percent]]), ['margin', 'margin', num], ['gap', 'certified gap', num]]) if (this.s[key] !== null) items.push([title, write(this.s[key])]);
    if (fit && typeof fit.norm === 'number') items.push(['p-norm at margin 1', num(fit.norm)]);
    if (fit && typeof fit.steps === 'number') items.unshift(['steps', num(fit.steps)]);
    if (c && !items.length) {
      if (several) items.push(['the last curve', c.name]);
      if (c.rows) items.push([axis[c.axes[0]] || c.axes[0], num(c.at)]);
      for (const m of this.metrics.slice(0, 8)) {
        const y = c.metrics[m.name] && c.metrics[m.name].y, k = y ? y.findLastIndex(v => v !== null) : -1;
        if (k >= 0) items.push([m.title, m.scale === 100 ? percent(y[k]) : num(y[k])]);
      }
    }
    const since = this.s.status === 'running' ? (performance.now() - this.begin) / 1000 : 0;
    if (this.s.seconds !== null) items.push(['time', time(this.s.seconds + since)]);
    this.numbers.replaceChildren(...items.map(([k, v]) => h('div', {}, h('dt', {}, k), h('dd', {}, v))));
  }

  // follow adds what is appended, from where the last answer ended. A browser has six connections to a server, so only a page that is seen holds one, and none
  // that shows a run which has ended.
  follow(onStatus) {
    if (['done', 'failed', 'corrupt'].includes(this.s.status)) return;
    let known = this.s.status, source = null;
    const close = () => { if (source) source.close(); source = null; };
    const open = () => {
      if (source || document.hidden) return;
      source = new EventSource('/api/stream' + query([['id', this.id], ['from', this.offset]]));
      source.addEventListener('rows', e => { this.offset = e.lastEventId; this.add(parse(e.data)); });
      source.addEventListener('reset', () => this.load().catch(() => {}));
      source.addEventListener('status', e => {
        const now = JSON.parse(e.data).status;
        if (now === known) return;
        known = now;
        onStatus(now);
        if (now !== 'running') setTimeout(() => location.reload(), 1500); // results and files are there now
      });
    };
    document.addEventListener('visibilitychange', () => document.hidden ? close() : open());
    addEventListener('pagehide', close);
    addEventListener('pageshow', open);
    open();
  }

  add(event) {
    let fresh = false, most = 0;
    for (const c of event.curves) {
      const mine = this.curves.find(k => k.curve === c.curve);
      if (!mine || c.x === 'line') { fresh = true; continue; } // a curve or a result that is new
      if (c.sizes) {
        const last = mine.sizes && mine.sizes.length ? mine.sizes[mine.sizes.length - 1].at : -Infinity;
        mine.sizes = (mine.sizes || []).concat(c.sizes.filter(s => s.at > last));
        if (mine.sizes.length > 400) fresh = true;
      }
      mine.at = c.values[c.x][c.values[c.x].length - 1];
      const x = mine.x === 'time' ? c.time : c.values[mine.x];
      const known = mine.x === 'time' && Object.values(mine.metrics).find(p => p.x.length);
      if (!x || known && x[0] < known.x[known.x.length - 1]) { fresh = true; continue; } // a clock that began again: the server adds up
      for (const [m, y] of Object.entries(c.values)) {
        if (m === 'step' || m === 'epoch' || m === c.x) continue;
        if (!this.metrics.some(k => k.name === m)) fresh = true;
        const to = mine.metrics[m] = mine.metrics[m] || { x: [], y: [] };
        const last = to.x.length ? to.x[to.x.length - 1] : -Infinity; // an answer of the server may have been ahead of the stream
        x.forEach((v, k) => { if (v > last) { to.x.push(v); to.y.push(y[k]); } });
        most = Math.max(most, to.x.length);
      }
    }
    if (fresh || most > refetch) { // a metric that is new, or so many points that the server should thin them
      if (!this.soon) this.soon = setTimeout(() => { this.soon = null; this.load().catch(() => {}); }, this.curves.length ? 100 : 1000); // lines that come often must not put it off
      return;
    }
    this.draw();
    if (this.zoom) this.refine(1000);
  }
}
