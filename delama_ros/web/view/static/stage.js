// The panels: one map with all robots in it, or every robot's map side by side.

import { Camera } from './camera.js';
import { drawPanel } from './panel.js';
import { TEXTS } from './texts.js';

const CAPTION = 26; // px
const GAP = 10; // px, as in view.css
const NARROW = 760; // px below which a page is a column that scrolls

export class Stage {
  constructor(root, swarm, changed) {
    this.root = root;
    this.swarm = swarm;
    this.side = true; // side by side
    this.chosen = null; // id of the robot whose map is shown alone
    this.layers = { scans: true, trails: true, graph: true, names: true, truth: false };
    this.panels = new Map(); // by robot id: { figure, canvas, name, score }
    this.camera = new Camera(changed);
    this.camera.listen(root, (canvas) => this.viewOf(canvas).scale);
    new ResizeObserver(changed).observe(root);
  }

  /** Robots whose maps are shown. */
  get shown() {
    const { list } = this.swarm;
    const chosen = list.find((robot) => robot.id === this.chosen) ?? list[0];
    return this.side ? list : [chosen].filter(Boolean);
  }

  viewOf(canvas) {
    return this.camera.view(this.swarm.box(), canvas.clientWidth, canvas.clientHeight);
  }

  /** Redraw everything. */
  draw(looksOf, curves) {
    const robots = this.shown;
    this.arrange(robots);
    const alive = this.swarm.list.some((robot) => !robot.silent);
    for (const robot of robots) {
      const panel = this.panels.get(robot.id);
      const curve = curves.get(robot.id);
      panel.name.textContent = robot.name;
      panel.figure.style.setProperty('--robot', looksOf(robot).colour);
      const f1 = curve?.filter((point) => point[2] <= this.swarm.at).at(-1)?.[1];
      panel.score.textContent = f1 === undefined ? '' : TEXTS.score(f1);
      panel.figure.classList.toggle('silent', alive && robot.silent > 0);
      const context = sized(panel.canvas);
      this.paint(context, [panel.canvas.clientWidth, panel.canvas.clientHeight], robot, looksOf, curve);
    }
  }

  paint(context, size, robot, looksOf, curve) {
    drawPanel(context, size, this.camera.view(this.swarm.box(), ...size), {
      swarm: this.swarm,
      base: robot,
      focus: this.side ? [robot] : this.swarm.list,
      layers: this.layers,
      looksOf,
      curve,
    });
  }

  /** Make one panel per robot and find the number of columns that makes them largest. */
  arrange(robots) {
    const ids = robots.map((robot) => robot.id);
    if (ids.join('\n') !== [...this.panels.keys()].join('\n')) {
      this.root.replaceChildren();
      this.panels = new Map(ids.map((id) => [id, this.makePanel(id)]));
    }
    const { clientWidth: width, clientHeight: height } = this.root;
    const box = this.swarm.box();
    const aspect = (box[2] - box[0]) / (box[3] - box[1]);
    const scrolls = window.innerWidth < NARROW;
    let best = { size: 0, columns: 1 };
    for (let columns = 1; columns <= robots.length; columns += 1) {
      const rows = Math.ceil(robots.length / columns);
      const wide = (width - GAP * (columns - 1)) / columns;
      const high = (height - GAP * (rows - 1)) / rows - CAPTION;
      const size = Math.min(wide, high * aspect);
      best = size > best.size ? { size, columns } : best;
    }
    const columns = scrolls ? Math.min(2, robots.length) : best.columns;
    this.root.style.setProperty('--columns', Math.max(1, columns));
    this.root.style.setProperty('--aspect', aspect.toFixed(3));
  }

  makePanel(id) {
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    const name = document.createElement('b');
    const score = document.createElement('span');
    const canvas = document.createElement('canvas');
    score.className = 'figure';
    caption.append(name, score);
    figure.dataset.panel = id;
    figure.className = 'panel';
    figure.append(caption, canvas);
    this.root.append(figure);
    return { figure, canvas, name, score };
  }
}

/** Give a canvas as many pixels as the screen has for it; its unit stays a CSS pixel. */
export function sized(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
