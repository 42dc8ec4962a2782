// F1 over steps: a line per robot, their mean, and a mark at the moment that is shown.

import { sized } from './stage.js';
import { TEXTS } from './texts.js';

const PAD = { left: 34, right: 10, top: 8, bottom: 20 };
const FONT = '11px system-ui, "DejaVu Sans", sans-serif';

/** Mean over robots by step, of the steps that somebody was scored in: [step, F1, time]. */
export function meanCurve(curves) {
  const steps = new Map();
  for (const curve of curves.values()) {
    for (const [step, f1, time] of curve) {
      const sum = steps.get(step) ?? [0, 0, 0];
      steps.set(step, [sum[0] + f1, sum[1] + 1, Math.max(sum[2], time)]);
    }
  }
  return [...steps].sort((a, b) => a[0] - b[0]).map(([t, [sum, n, time]]) => [t, sum / n, time]);
}

export class Chart {
  /** seek(time) is called when somebody points at a step. */
  constructor(canvas, reading, seek) {
    this.canvas = canvas;
    this.reading = reading;
    this.hover = null; // step
    canvas.addEventListener('pointermove', (event) => this.point(event));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('click', (event) => {
      this.point(event);
      this.go(this.hover);
    });
    canvas.addEventListener('keydown', ({ key }) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
      const place = this.mean?.findIndex(([step]) => step === this.current) ?? -1;
      this.go(by && this.mean?.[place + by]?.[0]);
    });
    this.go = (wanted) => {
      const there = this.mean?.find(([step]) => step === wanted);
      if (there) {
        seek(there[2]);
      }
    };
  }

  point(event) {
    if (!this.mean?.length) {
      return;
    }
    const x = event.offsetX;
    const near = this.mean.reduce((a, b) => (
      Math.abs(this.across(b[0]) - x) < Math.abs(this.across(a[0]) - x) ? b : a));
    this.hover = near[0];
    this.draw();
  }

  leave() {
    this.hover = null;
    this.draw();
  }

  show(swarm, curves, looksOf) {
    Object.assign(this, { swarm, curves, looksOf, mean: meanCurve(curves) });
    this.draw();
  }

  draw() {
    const context = sized(this.canvas);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    context.clearRect(0, 0, width, height);
    if (!this.mean?.length) {
      this.reading.textContent = this.swarm?.truths.size ? TEXTS.noScore : TEXTS.noTruth;
      return;
    }
    const values = [...this.curves.values()].flatMap((curve) => curve.map((point) => point[1]));
    const floor = Math.max(0, Math.floor(10 * Math.min(...values) - 0.2) / 10);
    const [first, last] = [this.mean[0][0], this.mean.at(-1)[0]];
    const long = width - PAD.left - PAD.right;
    this.across = (step) => PAD.left + (long * (step - first + 0.5)) / (last - first + 1);
    const up = (f1) => (
      height - PAD.bottom - ((height - PAD.top - PAD.bottom) * (f1 - floor)) / (1 - floor));
    const style = getComputedStyle(this.canvas);
    const [ink, soft, line] = ['--ink', '--soft', '--line'].map((n) => style.getPropertyValue(n));
    context.font = FONT;
    this.axes(context, { floor, first, last, up, width, height, soft, line });
    const current = this.mean.filter(([, , time]) => time <= this.swarm.at + 0.05).at(-1);
    this.current = current?.[0]; // step at the moment shown
    const marked = this.hover ?? this.current;
    if (marked !== undefined) {
      context.fillStyle = line;
      context.fillRect(this.across(marked) - 1.5, PAD.top, 3, height - PAD.top - PAD.bottom);
    }
    for (const robot of this.swarm.list) {
      const curve = this.curves.get(robot.id) ?? [];
      this.stroke(context, curve, up, this.looksOf(robot).colour, 1.5);
    }
    this.stroke(context, this.mean, up, ink, 3);
    this.tell(marked);
  }

  axes(context, { floor, first, last, up, width, height, soft, line }) {
    context.fillStyle = soft;
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    const spacing = 1 - floor > 0.45 ? 0.2 : 0.1;
    for (let f1 = 1; f1 > floor - 1e-6; f1 -= spacing) {
      context.beginPath();
      context.moveTo(PAD.left, Math.round(up(f1)) + 0.5);
      context.lineTo(width - PAD.right, Math.round(up(f1)) + 0.5);
      context.stroke();
      context.fillText(Math.round(100 * f1), PAD.left - 6, up(f1));
    }
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    const every = Math.max(1, Math.ceil((last - first + 1) / 8));
    for (let step = first; step <= last; step += every) {
      context.fillText(step, this.across(step), height - 2);
    }
    context.textAlign = 'left';
    context.fillText(TEXTS.chartAxis, 2, height - 2);
  }

  stroke(context, curve, up, colour, wide) {
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = wide;
    context.lineJoin = 'round';
    context.beginPath();
    for (const [step, f1] of curve) {
      context.lineTo(this.across(step), up(f1));
    }
    context.stroke();
    if (curve.length) {
      const [step, f1] = curve.at(-1);
      context.beginPath();
      context.arc(this.across(step), up(f1), wide + 0.7, 0, 2 * Math.PI);
      context.fill();
    }
  }

  tell(step) {
    const mean = this.mean.find((point) => point[0] === step);
    if (!mean) {
      this.reading.textContent = '';
      return;
    }
    const rest = this.hover === null ? '' : this.swarm.list.map((robot) => {
      const point = this.curves.get(robot.id)?.find((p) => p[0] === step);
      return point && `${robot.name} ${(100 * point[1]).toFixed(1)}`;
    }).filter(Boolean).join(', ');
    this.reading.textContent = TEXTS.scoreAt(step, TEXTS.score(mean[1]), rest);
    this.canvas.setAttribute('aria-label', TEXTS.chart(step, TEXTS.score(mean[1])));
  }
}
