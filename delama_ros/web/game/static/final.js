// The last page: leaderboard, true lines, and a look back at every round.

import { badge, el } from './dom.js';
import { number } from './pages.js';
import { Plot } from './plot.js';
import { TEXTS } from './texts.js';

export function final(state, act) {
  const text = TEXTS.final;
  const me = state.players.find((player) => player.seat === state.me);
  const plot = new Plot();
  plot.truth(state.targets[me.group], state.targets[1 - me.group]);

  const tabs = state.history.map((_, k) => el('button', {
    type: 'button', role: 'tab', id: `round${k + 1}`, onclick: () => look(k),
  }, text.round(k + 1)));
  function look(k) {
    const round = state.history[k];
    plot.points(round.points[state.me], state.me);
    plot.last(round.learned[state.me]);
    plot.own(round.aggregated[state.me], state.me);
    plot.others(round.aggregated.flatMap((line, seat) => (line && seat !== state.me ? [{ seat, line }] : [])));
    tabs.forEach((tab, i) => tab.setAttribute('aria-selected', String(i === k)));
  }
  look(state.history.length - 1);

  const again = el('button', {
    class: 'primary', id: 'again', onclick: async () => { message.textContent = (await act('leave')) ?? ''; },
  }, text.again);
  const message = el('p', { class: 'error', role: 'alert' });
  const row = (player, place) => el('tr', { class: player.seat === state.me ? 'me' : '', 'data-seat': player.seat },
    el('td', {}, String(place + 1)),
    el('td', {}, el('span', { class: 'player' }, badge(player.seat), el('span', {},
      el('span', { class: 'name' }, player.name), ' ',
      player.agent ? el('span', { class: 'tag' }, text.agent) : null,
      player.seat === state.me ? el('span', { class: 'tag' }, text.you) : null))),
    el('td', {}, player.group === me.group ? text.yours : text.other),
    ...player.losses.map((loss) => el('td', { class: 'loss-cell' }, number(loss))));
  const element = el('div', {},
    el('h1', { tabindex: -1 }, text.heading),
    el('div', { class: 'columns play' },
      el('div', {},
        el('div', { class: 'tabs', role: 'tablist' }, ...tabs), plot.svg,
        el('p', { class: 'soft' }, text.legend)),
      el('div', { class: 'side' },
        el('h2', {}, text.leaderboard),
        el('div', { class: 'scroll' }, el('table', { id: 'leaderboard' },
          el('thead', {},
            el('tr', {}, el('th', { rowspan: 2 }), el('th', { rowspan: 2 }, text.player),
              el('th', { rowspan: 2 }, text.line), el('th', { colspan: state.rounds }, text.loss)),
            el('tr', {}, ...state.history.map((_, k) => el('th', { class: 'loss-cell' }, String(k + 1))))),
          el('tbody', {}, ...state.players.map(row)))),
        el('p', { class: 'soft' }, text.order),
        again, message)));
  return { element, update() {} };
}
