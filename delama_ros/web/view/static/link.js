// The connection: asks for a moment, takes what comes, and asks again once that has been drawn.

const AGAIN = 1000; // ms until the next attempt
const PATIENCE = 8000; // ms without an answer after which the connection is given up

export class Link {
  /** took(buffer, first) may return a promise; it is awaited before the next message. */
  constructor({ took, changed }) {
    this.took = took;
    this.changed = changed;
    this.at = null;
    this.asked = undefined; // moment of the question that is open
    this.connect();
  }

  connect() {
    this.changed('connecting');
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/updates`);
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    let first = true;
    let queue = Promise.resolve();
    socket.onopen = () => {
      this.changed('connected');
      this.asked = undefined;
      this.ask(this.at);
    };
    socket.onmessage = ({ data }) => {
      clearTimeout(this.watchdog);
      const fresh = first;
      first = false;
      this.asked = undefined;
      queue = queue.then(() => this.took(data, fresh)).catch((error) => {
        console.error(error);
        socket.close();
      });
    };
    socket.onclose = () => {
      clearTimeout(this.watchdog);
      this.changed('lost');
      setTimeout(() => this.connect(), AGAIN);
    };
  }

  /** Ask for a moment in s, or with null for the newest; once only while no answer is there. */
  ask(at) {
    this.at = at;
    if (this.socket.readyState !== WebSocket.OPEN || this.asked === at) {
      return;
    }
    this.asked = at;
    this.socket.send(JSON.stringify({ at }));
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.socket.close(), PATIENCE);
  }
}
