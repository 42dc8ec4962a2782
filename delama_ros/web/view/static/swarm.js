// The page's copy of the swarm at the moment that is shown; see mirror.py for what arrives.

export class Swarm {
  constructor() {
    this.clear();
  }

  clear() {
    this.robots = new Map(); // by id: what is shown of each
    this.order = []; // ids of all robots, received at the time shown or not yet
    this.truths = new Map(); // by id: { bitmap, place }
    this.log = [];
    this.scores = []; // [robot, step, F1, truth, time]
    this.now = 0;
    this.at = 0;
    this.live = true;
    this.title = '';
    this.progress = 1;
  }

  /** Robots to show, in order. */
  get list() {
    return this.order.map((id) => this.robots.get(id)).filter(Boolean);
  }

  byName(name) {
    return this.list.find((robot) => robot.name === name);
  }

  /** Take an update; resolves when all its images can be drawn. */
  async apply(buffer) {
    const size = new DataView(buffer).getUint32(0, true);
    const text = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    const bytes = ([offset, length]) => new Uint8Array(buffer, 4 + size + offset, length);
    const pictures = [];
    for (const change of text.changes) {
      if (change.map) {
        pictures.push(decode(change.map, bytes));
      }
    }
    for (const truth of text.truths) {
      pictures.push(decode(truth, bytes));
    }
    await Promise.all(pictures);
    for (const name of ['title', 'live', 'progress', 'now', 'at']) {
      this[name] = text[name];
    }
    this.order = text.robots;
    for (const change of text.changes) {
      this.change(change, bytes);
    }
    for (const truth of text.truths) {
      this.truths.set(truth.id, truth);
    }
    grow(this.log, text.log);
    grow(this.scores, text.scores);
  }

  change(change, bytes) {
    if (!this.robots.has(change.id)) {
      this.robots.set(change.id, { id: change.id, name: change.id, trail: [], map: null, place: null });
    }
    const robot = this.robots.get(change.id);
    Object.assign(robot, change.facts);
    if ('map' in change) {
      robot.map?.bitmap.close();
      robot.map = change.map;
    }
    if ('place' in change) {
      robot.place = change.place && {
        pose: change.place.pose,
        points: numbers(Int16Array, bytes(change.place.points)),
      };
    }
    if (change.trail) {
      robot.trail.length = 2 * change.trail.from;
      for (const value of numbers(Float32Array, bytes(change.trail.new))) {
        robot.trail.push(value);
      }
    }
  }

  /** What is known of F1 by robot, as points [step, F1, time, truth]; a new run starts over. */
  curves() {
    const curves = new Map();
    for (const [id, step, f1, truth, time] of this.scores) {
      const curve = curves.get(id) ?? [];
      curves.set(id, curve);
      if (curve.length && step <= curve.at(-1)[0]) {
        curve.length = 0;
      }
      curve.push([step, f1, time, truth]);
    }
    return curves;
  }

  /** Smallest box [x, y, x, y] around what is worth showing: the building, or all walls. */
  box() {
    const places = this.truths.size ? [...this.truths.values()] : this.list.map((robot) => robot.map);
    const boxes = places.map((place) => place?.box).filter(Boolean);
    if (!boxes.length) {
      return [-5, -5, 5, 5];
    }
    return [
      Math.min(...boxes.map((b) => b[0])) - 0.6, Math.min(...boxes.map((b) => b[1])) - 0.6,
      Math.max(...boxes.map((b) => b[2])) + 0.6, Math.max(...boxes.map((b) => b[3])) + 0.6,
    ];
  }
}

async function decode(picture, bytes) {
  picture.bitmap = await createImageBitmap(new Blob([bytes(picture.png)], { type: 'image/png' }));
}

/** Numbers of a kind from bytes that may lie anywhere; all machines with browsers are little-endian. */
function numbers(Kind, bytes) {
  return new Kind(bytes.slice().buffer);
}

function grow(list, news) {
  if (news) {
    list.length = news.from;
    for (const value of news.new) {
      list.push(value);
    }
  }
}
