// Where one looks: all maps share one camera, so that the same place can be compared in each.

const MOST = 40; // times closer than the whole

export class Camera {
  constructor(changed) {
    this.changed = changed;
    this.fit();
  }

  /** Look at the whole box, wherever it is. */
  fit() {
    this.zoom = 1;
    this.shift = [0, 0]; // m from the middle of the box
    this.changed();
  }

  /** Pixels per metre and the world point in the middle of a panel of this size. */
  view(box, width, height) {
    const scale = this.zoom * Math.min(width / (box[2] - box[0]), height / (box[3] - box[1]));
    return {
      scale,
      x: (box[0] + box[2]) / 2 + this.shift[0],
      y: (box[1] + box[3]) / 2 + this.shift[1],
    };
  }

  /** Move by pixels. */
  pan(dx, dy, scale) {
    this.shift[0] -= dx / scale;
    this.shift[1] += dy / scale;
    this.changed();
  }

  /** Zoom by a factor so that the point (px, py), pixels from the middle of the panel, stays. */
  zoomBy(factor, px, py, scale) {
    const zoom = Math.min(MOST, Math.max(0.3, this.zoom * factor));
    const gain = 1 / scale - this.zoom / (zoom * scale);
    this.shift[0] += px * gain;
    this.shift[1] -= py * gain;
    this.zoom = zoom;
    this.changed();
  }

  /** Let pointers (mouse, pen, fingers) and wheel on an element move the camera. */
  listen(element, scaleOf) {
    const down = new Map(); // pointers by id
    const middle = (event) => {
      const frame = event.target.closest('canvas').getBoundingClientRect();
      return [event.clientX - frame.x - frame.width / 2, event.clientY - frame.y - frame.height / 2];
    };
    element.addEventListener('wheel', (event) => {
      if (event.target.closest('canvas')) {
        event.preventDefault();
        const [px, py] = middle(event);
        this.zoomBy(Math.exp(-event.deltaY * 0.0015), px, py, scaleOf(event.target));
      }
    }, { passive: false });
    element.addEventListener('pointerdown', (event) => {
      if (event.target.closest('canvas')) {
        event.target.setPointerCapture(event.pointerId);
        down.set(event.pointerId, event);
      }
    });
    element.addEventListener('pointermove', (event) => {
      const before = down.get(event.pointerId);
      if (!before) {
        return;
      }
      const scale = scaleOf(event.target);
      const dx = event.clientX - before.clientX;
      const dy = event.clientY - before.clientY;
      this.pan(dx / down.size, dy / down.size, scale);
      const other = [...down.values()].find((e) => e.pointerId !== event.pointerId);
      if (other) {
        const spread = (e) => Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY);
        const [px, py] = middle(event);
        this.zoomBy(spread(event) / Math.max(spread(before), 1), px, py, scale);
      }
      down.set(event.pointerId, event);
    });
    for (const end of ['pointerup', 'pointercancel']) {
      element.addEventListener(end, (event) => down.delete(event.pointerId));
    }
  }
}
