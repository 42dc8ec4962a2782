// How robots are told apart: colours of Okabe and Ito, which all eyes can tell apart, times shapes.

export const COLOURS = [
  '#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8a7a00',
];
const SHAPES = ['circle', 'square', 'diamond', 'triangle'];

/** Colour and shape of the robot at a place in the list; 28 differ. */
export function looks(index) {
  return {
    colour: COLOURS[index % COLOURS.length],
    shape: SHAPES[Math.floor(index / COLOURS.length) % SHAPES.length],
  };
}

/** Trace a robot's outline of radius r around (0, 0), its front to the right. */
export function trace(context, shape, r) {
  context.beginPath();
  if (shape === 'square') {
    context.rect(-r * 0.88, -r * 0.88, r * 1.76, r * 1.76);
  } else if (shape === 'diamond') {
    polygon(context, [[r * 1.25, 0], [0, r * 1.05], [-r * 1.25, 0], [0, -r * 1.05]]);
  } else if (shape === 'triangle') {
    polygon(context, [[r * 1.35, 0], [-r * 0.85, r * 1.1], [-r * 0.85, -r * 1.1]]);
  } else {
    context.arc(0, 0, r, 0, 2 * Math.PI);
  }
}

function polygon(context, corners) {
  for (const [x, y] of corners) {
    context.lineTo(x, y);
  }
  context.closePath();
}

/** Draw a robot: outline, and a line towards its front; yaw counts to the left, rad. */
export function drawRobot(context, x, y, yaw, look, r, faded) {
  context.save();
  context.translate(x, y);
  context.rotate(-yaw);
  context.globalAlpha = faded ? 0.45 : 1;
  trace(context, look.shape, r);
  context.fillStyle = look.colour;
  context.strokeStyle = '#ffffff';
  context.lineWidth = r / 3;
  context.stroke();
  context.fill();
  context.beginPath();
  context.moveTo(0, 0);
  context.lineTo(r * 1.7, 0);
  context.strokeStyle = '#16212b';
  context.lineWidth = Math.max(1.5, r / 3.5);
  context.lineCap = 'round';
  context.stroke();
  context.restore();
}
