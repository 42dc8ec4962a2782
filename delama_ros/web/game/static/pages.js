// The pages. Each returns { element, update(state) }; a page lives as long as its stage and round.

import { badge, el } from './dom.js';
import { Editor, Plot } from './plot.js';
import { TEXTS } from './texts.js';

export const number = (value) => (value === null ? TEXTS.final.none : Number(value.toPrecision(3)).toString());

// A button that acts once at a time, with the sentence it may come to beside it.
function actor(act, text, prepare) {
  const message = el('p', { class: 'error', role: 'alert' });
  const button = el('button', {
    class: 'primary',
    onclick: async (event) => {
      event.preventDefault();
      const [name, body, problem] = prepare();
      message.textContent = problem ?? '';
      if (problem) return;
      button.disabled = true;
      message.textContent = (await act(name, body)) ?? '';
      button.disabled = false;
    },
  }, text);
  return { button, message };
}

function header(state, title) {
  const clock = el('span', { class: 'clock figure', id: 'clock' });
  return el('header', { class: 'top' },
    el('div', {},
      el('p', { class: 'soft' }, TEXTS.round(state.round, state.rounds)),
      el('h1', { tabindex: -1 }, title)),
    el('div', { class: 'who' }, badge(state.me), el('span', {}, TEXTS.seats[state.me]), clock));
}

export function login(state, act) {
  const guide = TEXTS.guide;
  const name = el('input', { id: 'name', maxlength: 24, required: true, autocomplete: 'nickname', value: state.name });
  const select = (id, options, chosen) => el('select', { id },
    ...options.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
  const quality = select('quality', Object.entries(TEXTS.enter.qualities), 'medium');
  const people = select('people', TEXTS.enter.crowd.map((text, k) => [String(k + 1), text]), '1');
  const { button, message } = actor(act, TEXTS.enter.play, () => ['enter', {
    name: name.value, quality: quality.value, people: Number(people.value),
  }, name.value.trim() ? null : TEXTS.errors.invalid]);
  button.id = 'play';
  const field = (input, text) => el('div', { class: 'field' }, el('label', { for: input.id }, text), input);
  const element = el('div', {},
    el('h1', { tabindex: -1, class: 'title' }, TEXTS.title),
    el('div', { class: 'columns' },
      el('section', { class: 'card guide' },
        el('h2', {}, guide.heading),
        el('p', {}, guide.lead),
        el('ol', {}, ...guide.steps.map(([term, text]) => el('li', {}, el('strong', {}, term), el('span', {}, text)))),
        el('p', { class: 'soft' }, guide.end)),
      el('form', { class: 'card' },
        field(name, TEXTS.enter.name), field(quality, TEXTS.enter.quality), field(people, TEXTS.enter.people),
        button, message)));
  return { element, update() {} };
}

export function waiting(state, act) {
  const names = el('ul', { class: 'names', id: 'names' });
  const missing = el('p', { role: 'status' });
  const start = actor(act, TEXTS.waiting.start, () => ['start']);
  start.button.id = 'start';
  const leave = actor(act, TEXTS.waiting.leave, () => ['leave']);
  leave.button.className = '';
  leave.button.id = 'leave';
  const element = el('div', { class: 'card' },
    el('h1', { tabindex: -1 }, TEXTS.waiting.heading), names, missing,
    el('p', { class: 'soft' }, TEXTS.waiting.hint),
    el('div', { class: 'row' }, start.button, leave.button, el('span', { class: 'soft' }, TEXTS.waiting.startHint)),
    start.message, leave.message);
  return {
    element,
    update(now) {
      names.replaceChildren(...now.names.map((name, k) => el('li', {},
        k === now.me ? `${name} ${TEXTS.waiting.you}` : name)));
      missing.textContent = TEXTS.waiting.missing(now.people - now.names.length);
    },
  };
}

// What learning and aggregating share: the editor, a draft that outlives a reload, submission.
function drawing(state, act, { title, hint, submit, prepare, kept }) {
  const key = `draft ${state.game} ${state.round} ${state.stage}`;
  const draft = JSON.parse(sessionStorage.getItem(key) ?? '{}');
  const keep = () => sessionStorage.setItem(key, JSON.stringify({ ...kept(), line: editor.line }));
  const editor = new Editor(state.me, keep);
  editor.points(state.points, state.me);
  const done = el('p', { class: 'done', role: 'status', id: 'status' });
  const { button, message } = actor(act, submit, () => {
    const [name, more, problem] = prepare();
    if (!editor.line) return [name, null, TEXTS.plot.empty];
    const [slope, offset] = editor.line;
    return [name, { round: state.round, slope, offset, ...more }, problem];
  });
  button.id = 'submit';
  const side = el('div', { class: 'side' });
  const element = el('div', {}, header(state, title),
    el('div', { class: 'columns play' },
      el('div', {}, editor.svg, el('div', { class: 'row under' }, editor.equation, editor.undo)),
      side));
  const controls = el('div', { class: 'controls' }, button, message);
  side.append(el('p', { class: 'soft' }, hint));
  return {
    editor, element, side, controls, done, draft, keep,
    answered(now, line) {
      controls.hidden = now.answered;
      done.textContent = now.answered ? TEXTS.submitted(now.waiting_for) : '';
      if (now.answered && editor.enabled) {
        editor.start(line);
        editor.enable(false);
      }
    },
  };
}

export function learn(state, act) {
  const page = drawing(state, act, {
    title: TEXTS.learn.heading, hint: TEXTS.learn.hint, submit: TEXTS.learn.submit,
    prepare: () => ['learn', {}, null], kept: () => ({}),
  });
  page.editor.last(state.last);
  page.editor.start(page.draft.line);
  page.side.append(
    ...(state.last ? [el('p', { class: 'soft' }, TEXTS.learn.last)] : []),
    el('p', { class: 'soft keys' }, TEXTS.learn.keys), page.controls, page.done,
  );
  return { element: page.element, update: (now) => page.answered(now, now.learned) };
}

export function aggregate(state, act) {
  const ratings = {};
  const page = drawing(state, act, {
    title: TEXTS.aggregate.heading, hint: TEXTS.aggregate.hint, submit: TEXTS.aggregate.submit,
    kept: () => ({ ratings }),
    prepare: () => ['aggregate', { ratings },
      Object.keys(ratings).length < state.others.length ? TEXTS.aggregate.missing : null],
  });
  const { editor } = page;
  Object.assign(ratings, page.draft.ratings);
  editor.last(state.learned);
  editor.others(state.others);
  editor.start(page.draft.line ?? state.learned);
  const rows = state.others.map(({ seat }) => {
    const name = TEXTS.seats[seat];
    const choices = [0, 1, 2, 3, 4, 5].map((value) => el('label', { class: 'choice' },
      el('input', {
        type: 'radio', name: `rating${seat}`, value, checked: ratings[seat] === value,
        onchange: () => { ratings[seat] = value; page.keep(); },
      }), el('span', {}, String(value))));
    const light = (on) => () => editor.highlight(on ? seat : null);
    return el('fieldset', {
      class: 'rating', 'data-seat': seat,
      onmouseenter: light(true), onmouseleave: light(false), onfocusin: light(true), onfocusout: light(false),
    }, el('legend', {}, badge(seat), el('span', {}, name)),
    el('div', { class: 'choices', role: 'radiogroup', 'aria-label': TEXTS.aggregate.rating(name) }, ...choices));
  });
  const fields = el('fieldset', { class: 'ratings' },
    ...(rows.length ? [...rows, el('p', { class: 'soft scale' }, TEXTS.aggregate.scale)]
      : [el('p', {}, TEXTS.aggregate.alone)]));
  page.side.append(fields, page.controls, page.done);
  return {
    element: page.element,
    update(now) {
      page.answered(now, now.aggregated);
      fields.disabled = now.answered;
    },
  };
}

export function result(state, act) {
  const text = TEXTS.result;
  const loss = state.losses.at(-1);
  const before = state.own_loss;
  const { button, message } = actor(act, state.round < state.rounds ? text.next : text.last,
    () => ['proceed', { round: state.round }]);
  button.id = 'next';
  const done = el('p', { class: 'done', role: 'status' });
  let change = null;
  if (loss !== null && before !== null) {
    if (before === loss) change = text.same;
    else change = (loss < before ? text.better : text.worse)(number(before));
  }
  const plot = new Plot();
  plot.points(state.points, state.me);
  plot.last(state.learned);
  plot.own(state.aggregated, state.me);
  const element = el('div', {}, header(state, text.heading), el('div', { class: 'columns play' },
    el('div', {}, plot.svg, el('p', { class: 'soft' }, text.legend)),
    el('div', { class: 'card result' },
      el('p', { class: 'loss figure', id: 'loss' }, loss === null ? TEXTS.final.none : number(loss)),
      el('p', { class: 'soft' }, loss === null ? text.none : text.unit),
      change ? el('p', {}, change) : null,
      el('dl', {},
        el('dt', {}, text.rounds),
        el('dd', { class: 'figure' }, state.losses.map(number).join(' → ')),
        el('dt', {}, text.received),
        el('dd', { class: 'figure' }, state.received.length ? state.received.join(', ') : text.nobody)),
      button, message, done)));
  return {
    element,
    update(now) {
      button.hidden = now.answered;
      done.textContent = now.answered ? TEXTS.submitted(now.waiting_for) : '';
    },
  };
}
