// A card per robot: its state, its peers, what it sends and refuses.

import { trace } from './looks.js';
import { sized } from './stage.js';
import { TEXTS } from './texts.js';

const FACTS = ['step', 'peers', 'rounds', 'late', 'bytes', 'refused'];
const SWATCH = 16; // px

export class Cards {
  /** choose(id) is called when somebody picks a robot. */
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    this.cards = new Map(); // by robot id
  }

  show(swarm, { looksOf, curves, chosen }) {
    const ids = swarm.list.map((robot) => robot.id);
    if (ids.join('\n') !== [...this.cards.keys()].join('\n')) {
      this.root.replaceChildren();
      this.cards = new Map(ids.map((id) => [id, this.makeCard(id)]));
    }
    for (const robot of swarm.list) {
      const f1 = curves.get(robot.id)?.filter((p) => p[2] <= swarm.at).at(-1)?.[1];
      this.fill(this.cards.get(robot.id), robot, f1, looksOf, swarm, robot.id === chosen);
    }
  }

  makeCard(id) {
    const card = element('article', 'card robot');
    card.dataset.robot = id;
    const button = element('button', 'head');
    button.addEventListener('click', () => this.choose(id));
    const parts = {
      card,
      button,
      swatch: element('canvas', 'swatch'),
      name: element('b', 'name'),
      score: element('span', 'score figure'),
      state: element('span', 'state'),
      facts: Object.fromEntries(FACTS.map((fact) => [fact, element('dd', 'figure')])),
      weights: element('div', 'weights'),
    };
    parts.swatch.setAttribute('aria-hidden', 'true');
    button.append(parts.swatch, parts.name, parts.state, parts.score);
    const list = element('dl', 'facts');
    for (const fact of FACTS) {
      const group = element('div');
      const term = element('dt');
      [term.textContent, group.title] = TEXTS.fact[fact];
      parts.facts[fact].dataset.fact = fact;
      group.append(term, parts.facts[fact]);
      list.append(group);
    }
    card.append(button, list, parts.weights);
    this.root.append(card);
    return parts;
  }

  fill(parts, robot, f1, looksOf, swarm, chosen) {
    const { card, button, name, score, state, facts } = parts;
    drawSwatch(parts.swatch, looksOf(robot));
    put(name, robot.name);
    put(score, f1 === undefined ? '' : TEXTS.score(f1));
    button.setAttribute('aria-pressed', chosen);
    const problems = robot.state?.problems ?? [];
    const wrong = robot.silent || problems.length > 0;
    card.classList.toggle('silent', robot.silent > 0);
    card.classList.toggle('wrong', Boolean(wrong));
    put(state, !robot.received ? TEXTS.notYet : robot.silent ? TEXTS.silent(robot.silent) : wrong ? problems.join('; ') : TEXTS.ok);
    for (const [fact, value] of Object.entries(factsOf(robot))) {
      put(facts[fact], value);
    }
    for (const [fact, hint] of Object.entries(hintsOf(robot))) {
      facts[fact].title = hint;
    }
    this.fillWeights(parts.weights, robot, looksOf, swarm);
  }

  fillWeights(root, robot, looksOf, swarm) {
    const weights = Object.entries(robot.row?.weights ?? {});
    const whole = Math.max(1, weights.reduce((sum, [, weight]) => sum + weight, 0));
    const signature = JSON.stringify(weights);
    if (root.dataset.shown === signature) {
      return;
    }
    root.dataset.shown = signature;
    root.setAttribute('aria-label', TEXTS.weights);
    root.replaceChildren(...weights.map(([name, weight]) => {
      const bar = element('span', 'weight');
      const peer = swarm.byName(name);
      bar.title = `${name} ${weight.toFixed(2)}`;
      bar.style.width = `${(100 * weight) / whole}%`;
      bar.style.setProperty('--robot', peer ? looksOf(peer).colour : 'gray');
      return bar;
    }));
  }
}

/** The figures of a card as text; a dash for what is not known. */
function factsOf(robot) {
  const status = robot.state ?? {};
  const show = (value) => (value === undefined ? TEXTS.unknown : String(value));
  const bytes = (value) => (value === undefined ? TEXTS.unknown : TEXTS.bytes(Number(value)));
  return {
    step: show(robot.row?.step),
    peers: TEXTS.pair(show(robot.row && Object.keys(robot.row.weights).length), show(status.neighbours)),
    rounds: show(status.rounds_complete),
    late: show(status.rounds_incomplete),
    bytes: TEXTS.pair(bytes(status.bytes), bytes(status.bytes_total)),
    refused: show(status.refused),
  };
}

/** Tooltips of the figures. */
function hintsOf(robot) {
  const status = robot.state ?? {};
  return {
    late: TEXTS.inAll(status.rounds_incomplete_total ?? TEXTS.unknown),
    refused: Object.entries(status.refusals ?? {}).map(([reason, n]) => `${reason}: ${n}`).join('\n'),
  };
}

function drawSwatch(canvas, look) {
  if (canvas.dataset.drawn === look.colour + look.shape || !canvas.clientWidth) {
    return;
  }
  canvas.dataset.drawn = look.colour + look.shape;
  const context = sized(canvas);
  context.translate(SWATCH / 2, SWATCH / 2);
  trace(context, look.shape, SWATCH / 2.8);
  context.fillStyle = look.colour;
  context.fill();
}

function element(kind, name = '') {
  const made = document.createElement(kind);
  made.className = name;
  return made;
}

/** Change a text only if it differs: that is cheaper, and keeps the selection of the reader. */
function put(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}
