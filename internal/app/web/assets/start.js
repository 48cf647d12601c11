// Start fit, margin and train, and watch them: forms made from the settings of the commands.
import { h, get, post, main, plural, time, date, status, query, say } from './page.js';

// suggestions are what an empty page offers: they need no files and end soon.
const suggestions = [
  ['The Iris flowers, with the best of several p', 'fit', { data: 'iris', p: '1.1,2,10' }],
  ['The exact margins of data in a hundred dimensions', 'margin', { data: 'r100', p: '1.5,2,3' }],
  ['A small network on pictures of clothes', 'train', { data: 'fashion-sample', epochs: '3' }],
];

export async function showStart(params) {
  document.title = 'Start a run – bregman';
  const [{ forms }, data, from] = await Promise.all([get('/api/forms'), get('/api/data'), prefill(params)]);
  const place = h('div', { role: 'tabpanel', id: 'place' }), jobs = h('div', { id: 'jobs' });
  let current = forms.find(f => f.command === from.command) || forms[0];
  const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Command', onkeydown: e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    choose(forms[(forms.indexOf(current) + step + forms.length) % forms.length]);
    tabs.querySelector('[aria-selected=true]').focus();
  } });
  main().replaceChildren(h('h1', {}, 'Start a run'), tabs, place, h('h2', {}, 'Started here'), jobs);

  function choose(f, settings = {}, note = null) {
    current = f;
    tabs.replaceChildren(...forms.map(g => h('button', { type: 'button', role: 'tab', id: 'tab-' + g.command, 'aria-controls': 'place', 'aria-selected': String(g === f), tabindex: g === f ? 0 : -1, onclick: () => choose(g) }, g.command)));
    place.setAttribute('aria-labelledby', 'tab-' + f.command);
    place.replaceChildren(...[h('p', { class: 'soft' }, f.help), note ? h('p', { class: 'note', id: 'prefilled' }, note) : null, new Form(f, data, settings, load).element].filter(Boolean));
  }

  // fill shows a form with settings in it.
  function fill(command, settings, note) {
    const f = forms.find(g => g.command === command);
    if (!f) return;
    choose(f, settings, note);
    tabs.scrollIntoView();
    document.getElementById('go').focus({ preventScroll: true });
  }

  let timer = null;
  async function load() {
    clearTimeout(timer);
    const answer = await get('/api/jobs');
    jobs.replaceChildren(...(answer.jobs.length ? answer.jobs.map(card) : [empty()]));
    if (answer.jobs.some(j => j.status === 'running')) timer = setTimeout(() => load().catch(() => {}), 700);
  }

  const empty = () => h('div', { class: 'soft', id: 'nothing' }, h('p', {}, 'Nothing yet. Fill in a first try, which takes seconds and needs no files:'),
    h('div', { class: 'row' }, suggestions.map(([title, command, settings]) => h('button', { type: 'button', onclick: () => fill(command, settings) }, title))),
    h('p', {}, 'Runs from a terminal are in the ', h('a', { href: '/' }, 'list of runs'), '.'));

  function card(j) {
    const running = j.status === 'running';
    return h('section', { class: 'job', 'aria-label': j.command },
      h('div', { class: 'row' }, status(j.status), h('code', { class: 'grow' }, j.command), h('span', { class: 'soft small' }, `${date(j.started)}, ${time(j.seconds)}`),
        running ? h('button', { type: 'button', class: 'cancel', onclick: async e => { e.target.disabled = true; await post('/api/cancel', { job: j.job }).catch(err => say(err.message)); load(); } }, 'Cancel') : null),
      running ? h('progress', { max: 1, value: j.progress === null ? null : j.progress, 'aria-label': 'Progress' }) : null,
      j.runs.length || !running ? h('div', { class: 'row' }, j.runs.map((id, k) => h('a', { href: '/run' + query([['id', id]]), class: 'button', title: id }, (running ? 'Watch ' : '') + j.titles[k])),
        running ? null : h('button', { type: 'button', class: 'plain again', onclick: () => fill(j.form, j.settings) }, 'Start again with these settings')) : null,
      j.output ? h('pre', { tabindex: 0 }, j.output) : null,
      j.messages && (j.status === 'failed' || running) ? h('pre', { class: 'soft', tabindex: 0 }, j.messages.trim().split('\n').slice(-6).join('\n')) : null);
  }

  const unknown = Object.keys(from.settings).filter(k => !current.fields.some(f => f.name === k));
  const note = [from.note, unknown.length ? `Not in the form of ${current.command}: ${unknown.join(', ')}.` : ''].filter(Boolean).join(' ');
  choose(current, from.settings, note || null);
  await load();
  performance.mark('painted');
}

// prefill is what the address says: from=RUN, or settings by name.
async function prefill(params) {
  const id = params.get('from');
  if (!id) return { command: params.get('command'), settings: Object.fromEntries([...params].filter(([k]) => k !== 'command').map(([k, v]) => [k.replaceAll('_', '-'), v])) };
  let a;
  try {
    a = await get('/api/again' + query([['id', id]]));
  } catch (err) { // the form is there all the same
    return { command: null, settings: {}, note: err.message };
  }
  return { command: a.command, settings: a.settings, note: `The form has the settings of “${a.title}”.` + (a.left.length ? ` It cannot have: ${a.left.join(', ')}.` : '') };
}

// Form is the form of a command. What it says is checked by the server as it is filled in.
class Form {
  constructor(f, data, settings, started) {
    Object.assign(this, { f, data, started, touched: new Set(), asked: 0 });
    this.general = h('p', { class: 'note bad full', role: 'alert', id: 'wrong', hidden: true });
    this.go = h('button', { class: 'main', type: 'submit', id: 'go' }, `Start ${f.command}`);
    this.line = h('code', { id: 'line' });
    this.copy = h('button', { type: 'button', class: 'plain', id: 'copy', onclick: () => this.copyLine() }, 'Copy');
    this.command = h('p', { class: 'resume', hidden: true }, this.line, this.copy);
    this.same = h('p', { class: 'soft small', id: 'same' });
    this.runs = h('span', { class: 'soft small', id: 'runs' });
    const basic = f.fields.filter(x => x.basic).sort((a, b) => a.basic - b.basic), other = f.fields.filter(x => !x.basic);
    this.count = h('span', {});
    this.advanced = h('details', { class: 'table full', id: 'advanced' }, h('summary', {}, 'Advanced: ', this.count), h('div', { class: 'fields' }, other.map(x => this.input(x, settings))));
    this.element = h('form', { class: 'settings', novalidate: true, onsubmit: e => { e.preventDefault(); this.send(); }, oninput: () => this.soon(), onchange: e => { this.touched.add(e.target.name); this.soon(); } },
      basic.map(x => this.input(x, settings)), this.advanced,
      h('section', { class: 'full', 'aria-label': 'The same in a terminal' }, this.same, this.command),
      this.general, h('div', { class: 'full row' }, this.go, this.runs));
    this.other = other;
    this.soon(0);
  }

  input(field, settings) {
    const id = 'set-' + field.name, about = { id, name: field.name, 'aria-describedby': `${id}-error ${id}-help` };
    const said = Object.hasOwn(settings, field.name) && settings[field.name] !== '' ? settings[field.name] : null, value = said ?? field.default;
    const help = h('p', { class: 'help', id: id + '-help' }, field.help, ' ', h('code', {}, '--' + field.name)), error = h('p', { class: 'wrong', id: id + '-error', hidden: true });
    if (field.kind === 'flag') return h('div', {}, h('label', { for: id, class: 'check' }, h('input', { type: 'checkbox', ...about, checked: said === 'true' }), field.label), error, help);
    const label = h('label', { for: id }, field.label, field.required ? h('span', { class: 'soft' }, ' (needed)') : null);
    if (field.kind === 'choice') {
      const usual = field.default || '', known = usual ? field.choices : ['', ...field.choices];
      // a value that is none of them stays to be seen: the server says what is wrong with it
      return h('div', {}, label, h('select', about, (known.includes(value) ? known : [...known, value]).map(c => h('option', { value: c, selected: c === value }, c === '' ? `default (${field.unset})` : c))), error, help);
    }
    const names = field.known && field.known.length ? [...field.known, ...this.files(field)] : [];
    return h('div', {}, label, h('input', { type: 'text', inputmode: field.kind === 'number' && /^[\d.]*$/.test(field.default) ? 'decimal' : null, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: field.unset ? `default (${field.unset})` : names.length ? 'choose, or type a name' : field.placeholder || field.default || null, value, required: field.required, list: names.length ? id + '-names' : null, ...about }),
      names.length ? h('datalist', { id: id + '-names' }, names.map(n => h('option', { value: n }))) : null, error, help);
  }

  // files are those in the folder of --data that a setting may name.
  files(field) { return field.name === 'data' || field.name === 'test' ? this.f.command === 'train' ? this.data.images : this.data.tables : []; }

  // settings are those that are not at their default.
  settings() {
    const out = {};
    for (const field of this.f.fields) {
      const el = this.element.elements[field.name], v = field.kind === 'flag' ? (el.checked ? 'true' : '') : el.value.trim();
      if (v !== '' && v !== field.default) out[field.name] = v;
    }
    return out;
  }

  // soon checks the form when nobody has typed for a moment.
  soon(wait = 250) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check().catch(() => {}), wait);
  }

  async check() {
    const settings = this.settings(), asked = ++this.asked, changed = this.other.filter(x => x.name in settings).length;
    this.count.textContent = plural(this.other.length, 'setting') + (changed ? `, ${changed} changed` : '');
    const a = await post('/api/start', { command: this.f.command, settings, dry: true });
    if (asked !== this.asked) return; // it has changed since
    this.say(a.line || '', a.error);
    this.runs.textContent = !a.error && a.runs > 1 ? `${a.runs} runs, one after the other` : '';
    const el = a.error && this.element.elements[a.setting];
    this.clear();
    if (el && el !== document.activeElement && (this.touched.has(a.setting) || a.setting in settings)) this.mark(el, a.error);
  }

  // say shows the command line, or what is still wrong.
  say(line, error) {
    this.line.textContent = line;
    this.command.hidden = !line;
    this.same.textContent = error ? `Not ready: ${error}` : 'The same in a terminal:';
  }

  clear() {
    this.general.hidden = true;
    for (const el of this.element.querySelectorAll('[aria-invalid]')) {
      el.removeAttribute('aria-invalid');
      document.getElementById(el.id + '-error').hidden = true;
    }
  }

  // mark shows what is wrong with a field beside it.
  mark(el, text) {
    const error = document.getElementById(el.id + '-error');
    el.setAttribute('aria-invalid', 'true');
    error.textContent = text;
    error.hidden = false;
    if (this.advanced.contains(el)) this.advanced.open = true;
  }

  async send() {
    clearTimeout(this.timer);
    this.asked++;
    this.clear();
    this.go.disabled = true;
    try {
      await post('/api/start', { command: this.f.command, settings: this.settings() });
      say(`${this.f.command} was started`);
      this.soon(0);
      await this.started();
      document.querySelector('.job').scrollIntoView({ block: 'nearest' });
    } catch (err) {
      this.show(err);
    }
    this.go.disabled = false;
  }

  // show shows what the server says of the form, at the field if it is of one.
  show(err) {
    const el = err.setting && this.element.elements[err.setting];
    this.runs.textContent = '';
    this.say('', err.message);
    if (!el) {
      this.general.textContent = err.message;
      this.general.hidden = false;
      return;
    }
    this.mark(el, err.message);
    el.focus();
    say(err.message);
  }

  async copyLine() {
    try {
      await navigator.clipboard.writeText(this.line.textContent);
    } catch { // without https: it can be copied by hand
      getSelection().selectAllChildren(this.line);
      return;
    }
    this.copy.textContent = 'Copied';
    say('Copied');
    setTimeout(() => { this.copy.textContent = 'Copy'; }, 2000);
  }
}
