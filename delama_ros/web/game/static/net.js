// Talks to the server: acts are requests, what there is to see comes through a web socket.

import { TEXTS } from './texts.js';

const LONGEST_WAIT = 5000; // ms between tries to connect

export class Net {
  #show;
  #order = -1;
  #socket = null;
  #wait = 250;

  // show(state) is called with everything new to see; offline(bool) with the connection's fate.
  constructor(show, offline) {
    this.#show = show;
    this.offline = offline;
  }

  // Answers may overtake each other; only what is newer than what is shown counts.
  #take(state) {
    if (state.order < this.#order) return;
    this.#order = state.order;
    this.#show(state);
    if (state.stage === 'login') this.#socket?.close();
    else this.#connect();
  }

  async start() {
    try {
      this.#order = -1;
      this.#take(await (await fetch('/api/state')).json());
      this.offline(false);
    } catch {
      this.offline(true);
      this.#retry();
    }
  }

  #retry() {
    setTimeout(() => this.start(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT, 2 * this.#wait);
  }

  #connect() {
    if (this.#socket) return;
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/live`);
    this.#socket = socket;
    let last = null;
    socket.onmessage = (event) => {
      this.#wait = 250;
      last = JSON.parse(event.data);
      this.#take(last);
    };
    socket.onclose = () => {
      this.#socket = null;
      if (last?.stage !== 'login') this.#retry();
    };
  }

  // Returns the sentence to show if it did not work, null if it did.
  async act(name, body) {
    let answer;
    try {
      answer = await fetch(`/api/${name}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body ?? {}),
      });
      const state = await answer.json();
      if (answer.ok) {
        this.#take(state);
        return null;
      }
      await this.start(); // the page may be behind
      return TEXTS.errors[state.error] ?? TEXTS.errors.network;
    } catch {
      return TEXTS.errors.network;
    }
  }
}
