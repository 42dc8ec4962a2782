// Time: follow the newest, stand still, or play what was seen at some speed.

import { TEXTS } from './texts.js';

const SPEEDS = [0.5, 1, 2, 5, 10, 30];

export class Timeline {
  /** seek(at) is called whenever another moment is wanted: s, or null for the newest. */
  constructor(root, seek) {
    const find = (id) => root.querySelector(`#${id}`);
    Object.assign(this, {
      seek, playButton: find('play'), slider: find('time'), clock: find('clock'), newest: find('newest'),
    });
    this.at = null; // null: the newest
    this.playing = false;
    const speeds = find('speed');
    speeds.append(...SPEEDS.map((speed) => new Option(`${speed}×`, speed, speed === 1, speed === 1)));
    this.speed = () => Number(speeds.value);
    this.playButton.addEventListener('click', () => this.toggle());
    this.newest.addEventListener('click', () => this.go(null));
    this.slider.addEventListener('input', () => {
      this.playing = false;
      this.go(Number(this.slider.value));
    });
  }

  go(at) {
    this.at = at === null || at < 0 ? (at === null ? null : 0) : at;
    this.playing = this.playing && at !== null;
    this.seek(this.at);
  }

  /** Move by some seconds from the moment shown. */
  move(seconds, swarm) {
    const at = swarm.at + seconds;
    this.playing = false;
    this.go(at >= swarm.now ? null : at);
  }

  toggle() {
    if (this.playing || (this.at === null && this.live)) {
      this.playing = false;
      this.go(this.shown);
    } else {
      // from the beginning if one stands at the end
      this.playing = true;
      this.go(this.at ?? 0);
    }
    this.label();
  }

  /** Let so many ms have passed. */
  tick(ms, swarm) {
    if (this.playing) {
      const at = this.at + (this.speed() * ms) / 1000;
      if (at >= swarm.now) {
        this.playing = false;
        this.go(null);
      } else {
        this.go(at);
      }
    }
  }

  show(swarm) {
    this.live = swarm.live;
    this.shown = swarm.at;
    this.slider.max = Math.max(swarm.now, 0.05);
    this.slider.value = swarm.at;
    const text = TEXTS.seconds(swarm.at);
    this.slider.setAttribute('aria-valuetext', text);
    this.clock.textContent = text;
    this.newest.textContent = swarm.live ? TEXTS.toLive : TEXTS.toEnd;
    this.newest.setAttribute('aria-pressed', this.at === null);
    this.label();
  }

  label() {
    const runs = this.playing || (this.at === null && this.live);
    this.playButton.textContent = runs ? TEXTS.pause : TEXTS.play;
  }
}
