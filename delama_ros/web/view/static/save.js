// Saves what is shown: a picture of the panels as they are, or an animation of all that was seen.

import { Gif } from './gif.js';
import { TEXTS } from './texts.js';

const FRAMES = 60; // pictures of an animation
const SHOWN = 120; // ms each
const HELD = 2500; // ms the last one
const WIDEST = 1100; // px of an animation
const CAPTION = 26; // px
const PAD = 10; // px around all
const INK = '#16212b';

/** Draw the panels as they stand on the page onto a canvas of their own, on paper. */
function compose(stage, looksOf, curves, limit) {
  const { root, swarm } = stage;
  const outer = root.getBoundingClientRect();
  const [width, height] = [outer.width + 2 * PAD, root.scrollHeight + CAPTION + PAD];
  const ratio = Math.min(window.devicePixelRatio || 1, limit / width);
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, width, height);
  for (const [id, panel] of stage.panels) {
    const robot = swarm.robots.get(id);
    const frame = panel.canvas.getBoundingClientRect();
    const [x, y] = [PAD + frame.x - outer.x, PAD + frame.y - outer.y + root.scrollTop];
    context.save();
    context.translate(x, y);
    context.beginPath();
    context.rect(0, 0, frame.width, frame.height);
    context.clip();
    stage.paint(context, [frame.width, frame.height], robot, looksOf, curves.get(id));
    context.restore();
    write(context, panel.name.textContent, x, y - 7, 'left', '600');
    write(context, panel.score.textContent, x + frame.width, y - 7, 'right', '400');
  }
  write(context, TEXTS.seconds(swarm.at), width - PAD, height - 8, 'right', '400');
  return canvas;
}

function write(context, text, x, y, align, weight) {
  context.font = `${weight} 14px system-ui, "DejaVu Sans", sans-serif`;
  context.textAlign = align;
  context.textBaseline = 'alphabetic';
  context.fillStyle = INK;
  context.fillText(text, x, y);
}

function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Save a PNG of what is shown. */
export function saveStill(stage, looksOf, curves) {
  compose(stage, looksOf, curves, Infinity)
    .toBlob((blob) => download(blob, `swarm_${stage.swarm.at.toFixed(0)}s.png`));
}

/**
 * Save a GIF of everything from the beginning until now.
 *
 * goTo(time) resolves when that moment is shown; going(done, all) says whether to go on.
 */
export async function saveGif(stage, looksOf, curvesNow, goTo, going) {
  const end = stage.swarm.now;
  let gif = null;
  for (let i = 0; i < FRAMES; i += 1) {
    if (!going(i, FRAMES)) {
      return;
    }
    await goTo((end * i) / (FRAMES - 1));
    const canvas = compose(stage, looksOf, curvesNow(), WIDEST);
    gif ??= new Gif(canvas.width, canvas.height);
    const context = canvas.getContext('2d');
    gif.add(
      context.getImageData(0, 0, gif.width, gif.height).data, i === FRAMES - 1 ? HELD : SHOWN,
    );
  }
  download(gif.finish(), 'swarm.gif');
}
