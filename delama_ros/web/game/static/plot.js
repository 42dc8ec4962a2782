// The plot: points, lines of several people, and the own line with two handles to drag.

import { el, mark, svg } from './dom.js';
import { TEXTS } from './texts.js';

const SIZE = 600; // of the drawing, in its own units
const MARGIN = 34;
const X = 5.6; // the plot shows x from -X to X
const Y = 20;
const HANDLE_X = 4.6;
const STEEPEST = 20;
const NARROWEST = 0.25; // of a stroke, in x, that becomes a line

const toX = (x) => MARGIN + ((x + X) / (2 * X)) * (SIZE - 2 * MARGIN);
const toY = (y) => MARGIN + ((Y - y) / (2 * Y)) * (SIZE - 2 * MARGIN);
const fromX = (px) => ((px - MARGIN) / (SIZE - 2 * MARGIN)) * 2 * X - X;
const fromY = (py) => Y - ((py - MARGIN) / (SIZE - 2 * MARGIN)) * 2 * Y;
const at = ([slope, offset], x) => slope * x + offset;
const label = (value) => String(value).replace('-', '−');
const clamp = (value, most) => Math.max(-most, Math.min(most, value));
const through = (x1, y1, x2, y2) => {
  const slope = clamp((y2 - y1) / (x2 - x1), STEEPEST);
  return [slope, (y1 + y2) / 2 - slope * ((x1 + x2) / 2)];
};

let plots = 0;

export class Plot {
  constructor() {
    const clip = `clip${plots++}`;
    this.layers = Object.fromEntries(
      ['truth', 'others', 'last', 'points', 'own'].map((name) => [name, svg('g', { class: name })]),
    );
    this.svg = svg('svg', {
      class: 'plot', viewBox: `0 0 ${SIZE} ${SIZE}`, role: 'group', 'aria-label': TEXTS.plot.label,
    },
    svg('clipPath', { id: clip }, svg('rect', {
      x: MARGIN, y: MARGIN, width: SIZE - 2 * MARGIN, height: SIZE - 2 * MARGIN,
    })),
    this.#axes(),
    svg('g', { 'clip-path': `url(#${clip})` }, ...Object.values(this.layers)));
  }

  #axes() {
    const parts = [];
    for (let x = -5; x <= 5; x += 1) {
      parts.push(svg('line', { x1: toX(x), x2: toX(x), y1: toY(-Y), y2: toY(Y), class: x ? '' : 'zero' }));
    }
    for (let y = -Y; y <= Y; y += 5) {
      parts.push(svg('line', { x1: toX(-X), x2: toX(X), y1: toY(y), y2: toY(y), class: y ? '' : 'zero' }));
      if (y % 10 === 0) {
        parts.push(svg('text', { x: MARGIN - 5, y: toY(y) + 5, 'text-anchor': 'end' }, label(y)));
      }
    }
    for (let x = -4; x <= 4; x += 2) {
      parts.push(svg('text', { x: toX(x), y: SIZE - 6, 'text-anchor': 'middle' }, label(x)));
    }
    return svg('g', { class: 'axes', 'aria-hidden': 'true' }, ...parts);
  }

  points(points, seat) {
    this.layers.points.replaceChildren(
      ...points.map(([x, y]) => svg('circle', { class: `point seat-${seat}`, cx: toX(x), cy: toY(y), r: 6 })),
    );
  }

  #line(line, attributes) {
    return svg('line', {
      x1: toX(-X), y1: toY(at(line, -X)), x2: toX(X), y2: toY(at(line, X)), ...attributes,
    });
  }

  // A line with its owner's marks, which tell lines apart without colour.
  seatLine(seat, line) {
    const marks = [-4.2 + 0.45 * seat, 0.3 + 0.45 * seat, 3.2 + 0.45 * seat].map(
      (x) => mark(seat, toX(x), toY(at(line, x)), 8),
    );
    return svg('g', { class: 'seat-line', 'data-seat': seat }, this.#line(line, { class: `line seat-${seat}` }), ...marks);
  }

  others(lines) {
    this.layers.others.replaceChildren(...lines.map(({ seat, line }) => this.seatLine(seat, line)));
  }

  own(line, seat) {
    this.layers.own.replaceChildren(...(line ? [this.seatLine(seat, line)] : []));
  }

  last(line) {
    this.layers.last.replaceChildren(...(line ? [this.#line(line, { class: 'line' })] : []));
  }

  truth(own, other) {
    this.layers.truth.replaceChildren(
      this.#line(other, { class: 'line other' }), this.#line(own, { class: 'line' }),
    );
  }

  highlight(seat) {
    for (const group of this.layers.others.children) {
      group.classList.toggle('faint', seat !== null && Number(group.dataset.seat) !== seat);
    }
  }
}

export class Editor extends Plot {
  #past = [];

  // changed(line) is called whenever the person's line has changed.
  constructor(seat, changed) {
    super();
    this.seat = seat;
    this.line = null;
    this.changed = changed;
    this.enabled = true;
    this.svg.classList.add('editable');
    this.undo = el('button', { type: 'button', class: 'undo', disabled: true, onclick: () => this.back() }, TEXTS.plot.undo);
    this.equation = el('output', { class: 'equation figure' });
    this.handles = [[-HANDLE_X, TEXTS.plot.left], [HANDLE_X, TEXTS.plot.right]].map(
      ([x, label]) => this.#handle(x, label),
    );
    this.svg.addEventListener('pointerdown', (event) => this.#press(event));
    this.svg.addEventListener('keydown', (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === 'z') this.back();
      else if (event.key === 'Enter' && event.target === this.svg && !this.line && this.enabled) {
        this.#set([0, 0]); // something to move with the arrow keys
        this.handles[0].grip.focus();
      }
    });
    this.svg.setAttribute('tabindex', 0);
  }

  #handle(x, label) {
    const shown = svg('circle', { r: 13, class: `handle seat-${this.seat}` });
    const grip = svg('circle', {
      r: 26, class: 'grip', tabindex: 0, role: 'slider', 'aria-label': label,
      'aria-valuemin': -Y, 'aria-valuemax': Y,
      onkeydown: (event) => {
        const step = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
        if (!step || !this.line || !this.enabled) return;
        event.preventDefault();
        this.#set(this.#moved(x, at(this.line, x) + step * (event.shiftKey ? 1 : 0.1)));
      },
    });
    return { x, shown, grip };
  }

  #moved(x, y) {
    const other = -x;
    return x < 0 ? through(x, y, other, at(this.line, other)) : through(other, at(this.line, other), x, y);
  }

  #place(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = SIZE / box.width;
    return [fromX((event.clientX - box.left) * scale), fromY((event.clientY - box.top) * scale)];
  }

  #press(event) {
    if (!this.enabled || event.button !== 0) return;
    event.preventDefault();
    const [x0, y0] = this.#place(event);
    const before = this.line;
    const handle = this.handles.find(({ grip }) => grip === event.target);
    handle?.grip.focus();
    const move = (moved) => {
      const [x, y] = this.#place(moved);
      if (handle) this.#draw(this.#moved(handle.x, clamp(y, 2 * Y)));
      else if (Math.abs(x - x0) >= NARROWEST) this.#draw(through(x0, y0, x, y));
    };
    const stop = () => {
      this.svg.removeEventListener('pointermove', move);
      for (const name of ['pointerup', 'pointercancel']) this.svg.removeEventListener(name, stop);
      if (this.line !== before) this.#remember(before);
    };
    this.svg.setPointerCapture(event.pointerId);
    this.svg.addEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) this.svg.addEventListener(name, stop);
  }

  #set(line) {
    const before = this.line;
    this.#draw(line);
    this.#remember(before);
  }

  #remember(before) {
    this.#past.push(before);
    this.undo.disabled = false;
    this.changed(this.line);
  }

  back() {
    if (!this.enabled || !this.#past.length) return;
    this.#draw(this.#past.pop());
    this.undo.disabled = !this.#past.length;
    this.changed(this.line);
  }

  // Show a line that does not count as a change, such as one drawn before a reload.
  start(line) {
    if (line) this.#draw(line);
  }

  enable(enabled) {
    this.enabled = enabled;
    this.svg.classList.toggle('editable', enabled);
    this.undo.hidden = !enabled;
    this.#draw(this.line);
  }

  #draw(line) {
    this.line = line;
    const own = this.layers.own;
    if (!line) {
      own.replaceChildren();
      this.equation.textContent = '';
      return;
    }
    const handles = this.enabled ? this.handles : [];
    for (const { x, shown, grip } of handles) {
      for (const circle of [shown, grip]) {
        circle.setAttribute('cx', toX(x));
        circle.setAttribute('cy', toY(clamp(at(line, x), Y)));
      }
      grip.setAttribute('aria-valuenow', at(line, x).toFixed(1));
    }
    // Handles stay where they are in the document: taking them out would take the focus away.
    if (own.childElementCount !== 1 + 2 * handles.length) {
      own.replaceChildren(svg('g'), ...handles.flatMap(({ shown, grip }) => [shown, grip]));
    }
    own.firstChild.replaceChildren(this.seatLine(this.seat, line));
    this.equation.textContent = TEXTS.plot.equation(...line);
  }
}
