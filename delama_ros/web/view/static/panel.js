// Draws one robot's map with what lies on it: truth, ways, scans, the graph, robots, a scale.

import { drawRobot } from './looks.js';
import { TEXTS } from './texts.js';

const UNKNOWN = '#dfe4e8';
const GRID = '#d3dae0';
const INK = '#16212b';
const HALO = 'rgba(255, 255, 255, 0.85)';
const FONT = 'system-ui, "DejaVu Sans", sans-serif';

/**
 * Draw into a context whose unit is a CSS pixel.
 *
 * base: robot whose map is shown; focus: robots whose ways, scans and lines are shown; size: [w, h].
 */
export function drawPanel(context, size, view, { swarm, base, focus, layers, looksOf, curve }) {
  const [width, height] = size;
  context.fillStyle = UNKNOWN;
  context.fillRect(0, 0, width, height);
  const toScreen = ([x, y]) => [
    width / 2 + (x - view.x) * view.scale, height / 2 - (y - view.y) * view.scale,
  ];
  drawGrid(context, size, view, toScreen);
  if (base?.map) {
    drawPicture(context, base.map, view, toScreen);
  }
  if (layers.truth && swarm.truths.size) {
    // of several buildings, the one that the robot's map fits
    const truth = swarm.truths.get(curve?.at(-1)?.[3]) ?? [...swarm.truths.values()][0];
    drawPicture(context, truth, view, toScreen);
  }
  const unit = Math.max(4, Math.min(11, view.scale * 0.16));
  if (layers.trails) {
    focus.forEach((robot) => drawTrail(context, robot, looksOf(robot), toScreen, unit));
  }
  if (layers.scans) {
    focus.forEach((robot) => drawScan(context, robot, looksOf(robot), toScreen, unit));
  }
  if (layers.graph) {
    // alone all the way, together half-way: the other half is the peer's own weight
    const reach = focus.length > 1 ? 0.5 : 1;
    focus.forEach((robot) => drawRow(context, robot, swarm, looksOf(robot), { toScreen, unit, reach }));
  }
  for (const robot of swarm.list) {
    if (robot.place) {
      const [x, y] = toScreen(robot.place.pose);
      const minor = !focus.includes(robot);
      const r = minor ? unit * 0.65 : unit;
      drawRobot(context, x, y, robot.place.pose[2], looksOf(robot), r, minor || robot.silent);
    }
  }
  if (layers.names) {
    const taken = []; // boxes of names so far
    focus.forEach((robot) => drawName(context, robot, toScreen, unit, taken));
  }
  drawScale(context, size, view);
}

function drawGrid(context, [width, height], view, toScreen) {
  if (view.scale < 8) {
    return;
  }
  context.strokeStyle = GRID;
  context.lineWidth = 1;
  context.beginPath();
  const [left, right] = [view.x - width / 2 / view.scale, view.x + width / 2 / view.scale];
  const [low, high] = [view.y - height / 2 / view.scale, view.y + height / 2 / view.scale];
  for (let x = Math.ceil(left); x <= right; x += 1) {
    const at = Math.round(toScreen([x, 0])[0]) + 0.5;
    context.moveTo(at, 0);
    context.lineTo(at, height);
  }
  for (let y = Math.ceil(low); y <= high; y += 1) {
    const at = Math.round(toScreen([0, y])[1]) + 0.5;
    context.moveTo(0, at);
    context.lineTo(width, at);
  }
  context.stroke();
}

function drawPicture(context, picture, view, toScreen) {
  const [x, y] = toScreen(picture.origin);
  context.save();
  context.translate(x, y);
  context.rotate(-picture.origin[2]);
  context.imageSmoothingEnabled = view.scale * picture.width < 2 * picture.bitmap.width;
  context.imageSmoothingQuality = 'high';
  const [width, height] = [picture.width * view.scale, picture.height * view.scale];
  context.drawImage(picture.bitmap, 0, -height, width, height);
  context.restore();
}

function drawTrail(context, robot, look, toScreen, unit) {
  const trail = robot.trail;
  if (!trail.length) {
    return;
  }
  context.beginPath();
  for (let i = 0; i < trail.length; i += 2) {
    context.lineTo(...toScreen([trail[i], trail[i + 1]]));
  }
  if (robot.place) {
    context.lineTo(...toScreen(robot.place.pose));
  }
  context.lineJoin = 'round';
  context.lineWidth = unit * 0.45;
  context.strokeStyle = look.colour;
  context.globalAlpha = 0.55;
  context.stroke();
  context.globalAlpha = 1;
}

function drawScan(context, robot, look, toScreen, unit) {
  if (!robot.place?.points.length) {
    return;
  }
  const [x, y, yaw] = robot.place.pose;
  const [c, s] = [Math.cos(yaw) / 100, Math.sin(yaw) / 100]; // points are in cm
  const { points } = robot.place;
  const dot = Math.max(1.6, unit * 0.3);
  context.fillStyle = look.colour;
  for (let i = 0; i < points.length; i += 2) {
    const [px, py] = toScreen([
      x + c * points[i] - s * points[i + 1], y + s * points[i] + c * points[i + 1],
    ]);
    context.fillRect(px - dot / 2, py - dot / 2, dot, dot);
  }
}

/** Lines towards each peer, as wide as the weight. */
function drawRow(context, robot, swarm, look, { toScreen, unit, reach }) {
  if (!robot.place || robot.silent) {
    return;
  }
  const [x, y] = toScreen(robot.place.pose);
  context.lineCap = 'butt';
  for (const [name, weight] of Object.entries(robot.row?.weights ?? {})) {
    const peer = swarm.byName(name);
    if (!peer?.place || weight <= 0) {
      continue;
    }
    const [px, py] = toScreen(peer.place.pose);
    for (const [extra, colour] of [[2, HALO], [0, look.colour]]) {
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x + reach * (px - x), y + reach * (py - y));
      context.lineWidth = 0.8 + 0.45 * unit * weight + extra;
      context.strokeStyle = colour;
      context.globalAlpha = 0.75;
      context.stroke();
    }
    context.globalAlpha = 1;
  }
}

/** Write a name above its robot, or where it covers no other name. */
function drawName(context, robot, toScreen, unit, taken) {
  if (!robot.place) {
    return;
  }
  const size = Math.max(11, Math.min(14, unit * 1.5));
  context.font = `600 ${size}px ${FONT}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  const [x, y] = toScreen(robot.place.pose);
  const [wide, far] = [context.measureText(robot.name).width + 6, unit * 1.6 + size / 2];
  const spots = [[0, -far], [0, far], [far + wide / 2, 0], [-far - wide / 2, 0], [0, -far - size]];
  const free = ([dx, dy]) => taken.every(([tx, ty, tw]) => (
    Math.abs(tx - x - dx) > (tw + wide) / 2 || Math.abs(ty - y - dy) > size));
  const [dx, dy] = spots.find(free) ?? spots[0];
  taken.push([x + dx, y + dy, wide]);
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = HALO;
  context.fillStyle = INK;
  context.strokeText(robot.name, x + dx, y + dy);
  context.fillText(robot.name, x + dx, y + dy);
}

function drawScale(context, [width, height], view) {
  const nice = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
  const metres = nice.find((m) => m * view.scale > Math.min(60, width / 4)) ?? 200;
  const [x, y, long] = [12, height - 12, metres * view.scale];
  context.strokeStyle = HALO;
  context.lineWidth = 5;
  for (const colour of [HALO, INK]) {
    context.strokeStyle = colour;
    context.lineCap = 'butt';
    context.beginPath();
    context.moveTo(x, y - 4);
    context.lineTo(x, y);
    context.lineTo(x + long, y);
    context.lineTo(x + long, y - 4);
    context.stroke();
    context.lineWidth = 1.5;
  }
  context.font = `11px ${FONT}`;
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  context.fillStyle = INK;
  context.lineWidth = 3;
  context.strokeStyle = HALO;
  context.strokeText(TEXTS.metres(metres), x + 5, y - 3);
  context.fillText(TEXTS.metres(metres), x + 5, y - 3);
}
