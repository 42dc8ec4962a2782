// Makes elements. Text only ever becomes text, so that nobody's name can be markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// The mark of a seat: circle, square, triangle, diamond, about the given point.
export function mark(seat, x, y, r) {
  const common = { class: `mark seat-${seat}` };
  if (seat === 0) return svg('circle', { ...common, cx: x, cy: y, r });
  const shapes = [null, [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]],
    [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]]];
  const points = shapes[seat].map(([dx, dy]) => `${x + 0.9 * r * dx},${y + 0.9 * r * dy}`).join(' ');
  return svg('polygon', { ...common, points });
}

export const badge = (seat) =>
  svg('svg', { class: 'badge', viewBox: '-12 -12 24 24', 'aria-hidden': 'true' }, mark(seat, 0, 0, 8));
