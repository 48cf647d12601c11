// Start fit, margin and train, and watch them: forms made from the settings of the commands.
import { h, get, post, main, name, time, date, status, query, say } from './page.js';

export async function showStart(params) {
  document.title = 'Start a run – bregman';
  const { forms } = await get('/api/forms');
  const place = h('div', {}), jobs = h('div', { id: 'jobs' });
  let current = forms.find(f => f.command === params.get('command')) || forms[0];
  const tabs = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Command', onkeydown: e => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    choose(forms[(forms.indexOf(current) + step + forms.length) % forms.length]);
    tabs.querySelector('[aria-selected=true]').focus();
  } });
  main().replaceChildren(h('h1', {}, 'Start a run'), tabs, place, h('h2', {}, 'Started here'), jobs);

  function choose(f) {
    current = f;
    tabs.replaceChildren(...forms.map(g => h('button', { type: 'button', role: 'tab', id: 'tab-' + g.command, 'aria-selected': String(g === f), tabindex: g === f ? 0 : -1, onclick: () => choose(g) }, g.command)));
    place.replaceChildren(h('p', { class: 'soft' }, f.help), makeForm(f));
  }

  function makeForm(f) {
    const error = h('p', { class: 'note bad full', role: 'alert', hidden: true });
    const go = h('button', { class: 'main', type: 'submit', id: 'go' }, `Start ${f.command}`);
    const form = h('form', { class: 'settings', novalidate: true, onsubmit: async e => {
      e.preventDefault();
      error.hidden = true;
      go.disabled = true;
      try {
        const settings = {};
        for (const field of f.fields) {
          const el = form.elements[field.name], v = field.kind === 'flag' ? (el.checked ? 'true' : '') : el.value.trim();
          if (v !== '' && v !== field.default) settings[field.name] = v;
        }
        await post('/api/start', { command: f.command, settings });
        say(`${f.command} was started`);
        await load();
      } catch (err) {
        error.textContent = err.message;
        error.hidden = false;
      }
      go.disabled = false;
    } }, f.fields.map(input), error, h('div', { class: 'full' }, go));
    return form;
  }

  function input(field) {
    const id = 'set-' + field.name, about = { id, name: field.name, 'aria-describedby': id + '-help' };
    const help = h('p', { class: 'help', id: id + '-help' }, field.help);
    if (field.kind === 'flag') return h('div', {}, h('label', { for: id }, h('input', { type: 'checkbox', ...about }), ' ' + field.name), help);
    const el = field.kind === 'choice' ? h('select', about, (field.default ? field.choices : ['', ...field.choices]).map(c => h('option', { value: c, selected: c === field.default }, c || 'default')))
      : h('input', { type: 'text', inputmode: field.kind === 'number' ? 'decimal' : null, autocomplete: 'off', spellcheck: 'false', placeholder: field.placeholder || field.default || null, value: field.default, required: field.required, ...about });
    return h('div', {}, h('label', { for: id }, field.name + (field.required ? ' (needed)' : '')), el, help);
  }

  let timer = null;
  async function load() {
    clearTimeout(timer);
    const answer = await get('/api/jobs');
    jobs.replaceChildren(...(answer.jobs.length ? answer.jobs.map(card) : [h('p', { class: 'soft' }, 'Nothing yet.')]));
    if (answer.jobs.some(j => j.status === 'running')) timer = setTimeout(() => load().catch(() => {}), 700);
  }

  function card(j) {
    const running = j.status === 'running';
    return h('section', { class: 'job', 'aria-label': j.command },
      h('div', { class: 'row' }, status(j.status), h('code', { class: 'grow' }, j.command), h('span', { class: 'soft small' }, `${date(j.started)}, ${time(j.seconds)}`),
        running ? h('button', { type: 'button', onclick: async e => { e.target.disabled = true; await post('/api/cancel', { job: j.job }).catch(err => say(err.message)); load(); } }, 'Cancel') : null),
      running ? h('progress', { max: 1, value: j.progress === null ? null : j.progress, 'aria-label': 'Progress' }) : null,
      j.runs.length ? h('p', {}, j.runs.map(id => h('a', { href: '/run' + query([['id', id]]), class: 'button' }, running ? 'Watch ' + name(id) : name(id)))) : null,
      j.output ? h('pre', { tabindex: 0 }, j.output) : null,
      j.messages && (j.status === 'failed' || running) ? h('pre', { class: 'soft', tabindex: 0 }, j.messages.trim().split('\n').slice(-6).join('\n')) : null);
  }

  choose(current);
  await load();
  performance.mark('painted');
}
