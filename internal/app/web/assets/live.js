// What a run's page shows of a run that is running or was stopped: progress with the time left, why it ended and how to resume it, single steps, the machine's load.
import { h, get, num, plural, query, say } from './page.js';
import { Chart } from './chart.js';

const points = 600, every = 1500; // points of a curve, and milliseconds between two requests

const stepCharts = [['loss', 'Loss, by step', 'loss'], ['gradient_norm', 'Gradient norm, by step', '‖gradient‖₂']];
const machineCharts = [['cpu', 'CPU', 'cores', 1], ['memory', 'Memory', 'GB', 1e-9], ['gpu', 'GPU', '% busy', 100], ['gpu_memory', 'GPU memory', 'GB', 1e-9]];

// about writes a duration that is not known to the second.
function about(seconds) {
  if (seconds < 90) return `${Math.max(5, 5 * Math.ceil(seconds / 5))} s`;
  const m = Math.round(seconds / 60);
  return m < 90 ? `${m} min` : `${Math.floor(m / 60)} h ${m % 60} min`;
}

// left writes how far a run is, and how long it still takes.
export const left = r => (r.progress === null ? '' : `${(100 * r.progress).toFixed(r.progress < 0.1 ? 1 : 0)} %`) + (r.left === null || r.left === undefined ? '' : `, about ${about(r.left)} left`);

// showLive returns what stands under the title of a run's page, and what stands above its curves. It keeps both new while the run is running.
export function showLive(run, id) {
  const s = run.summary, running = s.status === 'running';
  const live = new Live(id, s, running);
  const top = running ? live.progress : h('div', {}, ...showEnd(run));
  if (running || run.files.some(f => f.name === 'steps.jsonl' || f.name === 'machine.jsonl')) live.follow(running);
  return [top, live.box];
}

// showEnd says why a run ended before its work was done, and how to resume it.
function showEnd(run) {
  const out = run.ended ? [h('p', { class: 'note' + (run.summary.status === 'failed' ? ' bad' : ''), id: 'ended' }, run.ended)] : [];
  if (!run.resume) return out;
  const line = h('code', {}, run.resume);
  const copy = h('button', { type: 'button', class: 'plain', onclick: async () => {
    try {
      await navigator.clipboard.writeText(run.resume);
    } catch { // without https: it can be copied by hand
      getSelection().selectAllChildren(line);
      return;
    }
    copy.textContent = 'Copied';
    say('Copied');
    setTimeout(() => { copy.textContent = 'Copy'; }, 2000);
  } }, 'Copy');
  return [...out, h('p', { class: 'resume', id: 'resume' }, h('span', { class: 'soft' }, 'Resume it with'), line, copy)];
}

class Live {
  constructor(id, s, running) {
    Object.assign(this, { id, s, charts: new Map(), unit: null });
    this.bar = h('progress', { max: 1, 'aria-label': 'Progress' });
    this.words = h('span', {});
    this.progress = h('div', { class: 'row wait', id: 'progress', hidden: true }, this.bar, this.words);
    this.steps = h('div', { class: 'charts' });
    this.machine = h('div', { class: 'charts' });
    this.stepsPart = h('details', { id: 'steps', class: 'part', open: running, hidden: true }, h('summary', {}, 'Single steps'), this.steps);
    this.machinePart = h('details', { id: 'machine', class: 'part', hidden: true }, h('summary', {}, 'The machine'), this.machine);
    this.note = h('p', { class: 'note', hidden: true });
    this.box = h('div', { id: 'now' }, this.note, this.stepsPart, this.machinePart);
    this.show(s);
  }

  // follow asks for what is new, one request after the other, while the run is running and the page is seen.
  async follow(again) {
    if (!document.hidden) {
      try {
        const a = await get('/api/live' + query([['id', this.id], ['points', points]]));
        this.draw(a);
        again = again && a.status === 'running';
      } catch { /* the next request may do better */ }
    }
    if (again) setTimeout(() => this.follow(true), every);
  }

  show(a) {
    this.progress.hidden = a.progress === null;
    if (a.progress === null) return;
    this.bar.value = a.progress;
    this.words.textContent = left(a) + (a.step ? ` · epoch ${a.epoch.toFixed(2)}${a.epochs === null ? '' : ' of ' + num(a.epochs)}, step ${num(a.step)}` : '');
  }

  draw(a) {
    this.show(a);
    this.note.hidden = !a.note;
    this.note.textContent = a.note;
    for (const [key, title, y] of stepCharts) this.curve(this.steps, a.steps[key], key, title, 'step', y, 1, 1, false);
    this.stepsPart.hidden = !this.steps.firstChild;
    const end = Math.max(0, ...Object.values(a.machine).map(c => c.x[c.x.length - 1]));
    const [unit, seconds] = end < 300 ? ['seconds', 1] : end < 3 * 3600 ? ['minutes', 60] : ['hours', 3600];
    if (unit !== this.unit) { // another axis is another chart
      for (const [key] of machineCharts) this.charts.delete(key);
      this.machine.replaceChildren();
      this.unit = unit;
    }
    for (const [key, title, y, scale] of machineCharts) this.curve(this.machine, a.machine[key], key, title, unit, y, 1 / seconds, scale, true);
    if (a.cpus && this.charts.has('cpu')) this.machinePart.firstChild.textContent = `The machine (${plural(a.cpus, 'core')})`;
    this.machinePart.hidden = !this.machine.firstChild;
  }

  // curve draws one; a load is drawn with the area from 0.
  curve(box, c, key, title, x, y, scaleX, scaleY, load) {
    if (!c || c.x.length < 2) return; // a point is not a curve
    if (!this.charts.has(key)) {
      const chart = new Chart({ title, x, y });
      this.charts.set(key, chart);
      box.append(chart.card);
    }
    const ys = c.y.map(v => v === null ? null : v * scaleY);
    this.charts.get(key).set([{ name: '', color: this.s.color, x: c.x.map(v => v * scaleX), y: ys, ...(load ? { low: ys.map(() => 0), high: ys } : {}) }]);
  }
}
