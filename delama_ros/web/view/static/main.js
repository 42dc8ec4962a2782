// The page: connection, moment, panels, cards, chart and log, put together.

import { Cards } from './cards.js';
import { Chart, meanCurve } from './chart.js';
import { Link } from './link.js';
import { looks } from './looks.js';
import { saveGif, saveStill } from './save.js';
import { Stage } from './stage.js';
import { Swarm } from './swarm.js';
import { fillIn, TEXTS } from './texts.js';
import { Timeline } from './timeline.js';

const find = (id) => document.getElementById(id);
const swarm = new Swarm();
let dirty = true;
let arrived = []; // callbacks for when an update is there
let connection = 'connecting';
let curves = new Map();

fillIn(document);
const touch = () => { dirty = true; };
const looksOf = (robot) => looks(swarm.order.indexOf(robot.id));
const stage = new Stage(find('panels'), swarm, touch);
const timeline = new Timeline(document, (at) => link.ask(at));
const cards = new Cards(find('cards'), choose);
const chart = new Chart(find('chart'), find('reading'), (time) => timeline.go(time));

const link = new Link({
  async took(buffer, first) {
    if (first) {
      swarm.clear();
    }
    await swarm.apply(buffer);
    curves = swarm.curves();
    touch();
    // Asking once it is drawn keeps slow machines and hidden pages from piling up updates.
    await new Promise(requestAnimationFrame);
    arrived.splice(0).forEach((tell) => tell());
    link.ask(timeline.at);
  },
  changed(state) {
    connection = state;
    touch();
  },
});

let before = performance.now();
function frame(now) {
  timeline.tick(now - before, swarm);
  before = now;
  if (dirty) {
    dirty = false;
    draw();
  }
  requestAnimationFrame(frame);
}
requestAnimationFrame(frame);

function draw() {
  showStatus();
  timeline.show(swarm);
  stage.draw(looksOf, curves);
  cards.show(swarm, { looksOf, curves, chosen: stage.side ? null : stage.shown[0]?.id });
  chart.show(swarm, curves, looksOf);
  showChoice();
  showLog();
  const mean = meanCurve(curves).filter((point) => point[2] <= swarm.at + 0.05).at(-1);
  find('mean').textContent = mean ? TEXTS.score(mean[1]) : '';
  find('count').textContent = swarm.list.length || '';
}

function showStatus() {
  const status = find('status');
  status.textContent = swarm.progress < 1 ? TEXTS.reading(swarm.progress) : TEXTS[connection];
  status.dataset.state = connection;
  find('source').textContent = swarm.live ? TEXTS.live : TEXTS.recording(swarm.title);
  const robots = swarm.list;
  const over = robots.length > 0 && robots.every((robot) => robot.silent);
  const text = connection === 'lost' ? TEXTS.lost
    : connection === 'connected' && !robots.length && swarm.live ? TEXTS.nobody
      : over && swarm.live ? TEXTS.allSilent : '';
  find('banner').textContent = text;
  find('banner').hidden = !text;
}

function showChoice() {
  find('together').setAttribute('aria-pressed', !stage.side);
  find('apart').setAttribute('aria-pressed', stage.side);
  for (const button of document.querySelectorAll('[data-layer]')) {
    button.setAttribute('aria-pressed', stage.layers[button.dataset.layer]);
    button.disabled = button.dataset.layer === 'truth' && !swarm.truths.size;
  }
  const select = find('chosen');
  const wanted = swarm.list.map((robot) => `${robot.id}\n${robot.name}`).join('\n');
  if (select.dataset.shown !== wanted) {
    select.dataset.shown = wanted;
    select.replaceChildren(...swarm.list.map((robot) => new Option(robot.name, robot.id)));
  }
  select.value = stage.chosen ?? swarm.order[0] ?? '';
  select.parentElement.hidden = stage.side;
}

function showLog() {
  const list = find('log');
  const last = swarm.log.at(-1);
  const shown = `${swarm.log.length} ${last?.time} ${last?.text}`;
  if (list.dataset.shown === shown) {
    return;
  }
  list.dataset.shown = shown;
  const below = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  list.replaceChildren(...swarm.log.slice(-200).map((line) => {
    const item = document.createElement('li');
    item.dataset.level = line.level;
    for (const [kind, text] of [
      ['when', TEXTS.seconds(line.time)], ['who', line.name], ['what', line.text],
    ]) {
      const part = document.createElement('span');
      part.className = kind;
      part.textContent = text;
      item.append(part, ' ');
    }
    item.title = TEXTS.level[line.level] ?? '';
    return item;
  }));
  if (below) {
    list.scrollTop = list.scrollHeight;
  }
}

function choose(id) {
  stage.chosen = id;
  arrange(false);
}

function arrange(side) {
  stage.side = side;
  touch();
}

function toggle(layer) {
  if (layer !== 'truth' || swarm.truths.size) {
    stage.layers[layer] = !stage.layers[layer];
    touch();
  }
}

find('together').addEventListener('click', () => arrange(false));
find('apart').addEventListener('click', () => arrange(true));
find('chosen').addEventListener('change', (event) => choose(event.target.value));
find('fit').addEventListener('click', () => stage.camera.fit());
for (const button of document.querySelectorAll('[data-layer]')) {
  button.addEventListener('click', () => toggle(button.dataset.layer));
}
find('still').addEventListener('click', () => saveStill(stage, looksOf, curves));

let saving = false;
find('gif').addEventListener('click', async () => {
  if (saving) {
    saving = false;
    return;
  }
  saving = true;
  const back = timeline.at;
  const goTo = (at) => new Promise((resolve) => {
    timeline.go(at);
    const check = () => (Math.abs(swarm.at - at) < 0.02 ? resolve() : arrived.push(check));
    arrived.push(check);
  });
  await saveGif(stage, looksOf, () => curves, goTo, (done, all) => {
    find('gif').textContent = TEXTS.gifStop(done, all);
    return saving;
  });
  saving = false;
  find('gif').textContent = TEXTS.gif;
  timeline.go(back);
});

find('keyList').append(...TEXTS.keys.flatMap(([keys, meaning]) => {
  const [term, text] = [document.createElement('dt'), document.createElement('dd')];
  [term.textContent, text.textContent] = [keys, meaning];
  return [term, text];
}));
find('help').addEventListener('click', () => find('keys').showModal());

const LAYER_KEYS = { s: 'scans', w: 'trails', g: 'graph', n: 'names', t: 'truth' };
const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };

document.addEventListener('keydown', (event) => {
  const typing = event.target.matches('input, select, button, #chart, #cards, #log, dialog *');
  if (event.ctrlKey || event.metaKey || event.altKey || (typing && /^( |Arrow.*|Enter|\d)$/.test(event.key))) {
    return;
  }
  const { key } = event;
  const scale = () => stage.viewOf(find('panels').querySelector('canvas') ?? find('panels')).scale;
  const act = key in LAYER_KEYS ? () => toggle(LAYER_KEYS[key])
    : key in MOVES ? () => stage.camera.pan(...MOVES[key], scale())
      : /^[1-9]$/.test(key) ? () => swarm.order[key - 1] && choose(swarm.order[key - 1])
        : {
          m: () => arrange(!stage.side),
          0: () => stage.camera.fit(),
          '+': () => stage.camera.zoomBy(1.25, 0, 0, scale()),
          '-': () => stage.camera.zoomBy(0.8, 0, 0, scale()),
          ' ': () => timeline.toggle(),
          ',': () => timeline.move(-1, swarm),
          '.': () => timeline.move(1, swarm),
          l: () => timeline.go(null),
          '?': () => find('keys').showModal(),
        }[key];
  if (act) {
    event.preventDefault();
    act();
  }
});
