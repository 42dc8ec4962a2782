// Shows the page of the stage the game is in, and keeps its clock.

import { final } from './final.js';
import { Net } from './net.js';
import { aggregate, learn, login, result, waiting } from './pages.js';
import { TEXTS } from './texts.js';

const PAGES = { login, waiting, learn, aggregate, result, final };
const place = document.getElementById('page');
const offline = document.getElementById('offline');
let shown = { key: null, page: null };
let ends = null; // ms on the page's clock

function show(state) {
  const key = [state.stage, state.game, state.round].join();
  if (key !== shown.key) {
    const first = shown.key === null;
    shown = { key, page: PAGES[state.stage](state, (name, body) => net.act(name, body)) };
    place.replaceChildren(shown.page.element);
    place.dataset.stage = state.stage;
    place.dataset.round = state.round ?? '';
    if (!first) {
      window.scrollTo(0, 0);
      place.querySelector('h1')?.focus({ preventScroll: true });
    }
  }
  shown.page.update(state);
  ends = state.remaining == null ? null : performance.now() + 1000 * state.remaining;
  tick();
}

function tick() {
  const clock = document.getElementById('clock');
  if (!clock || ends === null) return;
  const left = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
  clock.textContent = TEXTS.time(`${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`);
  clock.classList.toggle('soon', left <= 15);
}

const net = new Net(show, (lost) => { offline.hidden = !lost; });
offline.textContent = TEXTS.offline;
document.title = TEXTS.title;
setInterval(tick, 250);
net.start();
