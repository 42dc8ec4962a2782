// Writes animated GIF files (GIF89a): one palette for all pictures, LZW as the format wants it.

const LEVELS = 6; // of red, green and blue; then 40 greys
const GREYS = 256 - LEVELS ** 3;
const MAX_CODES = 4096;

/** Pictures of the same size, as Uint8ClampedArray of RGBA, become the bytes of a file. */
export class Gif {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.bytes = [];
    this.known = new Map(); // colour → place in the palette
    this.text('GIF89a');
    this.short(width);
    this.short(height);
    this.bytes.push(0xf7, 0, 0, ...palette());
    this.bytes.push(0x21, 0xff, 11);
    this.text('NETSCAPE2.0');
    this.bytes.push(3, 1, 0, 0, 0); // for ever
  }

  /** Add a picture that is shown for some ms. */
  add(pixels, ms) {
    this.bytes.push(0x21, 0xf9, 4, 0);
    this.short(Math.max(2, Math.round(ms / 10)));
    this.bytes.push(0, 0, 0x2c, 0, 0, 0, 0);
    this.short(this.width);
    this.short(this.height);
    this.bytes.push(0);
    this.compress(this.indexed(pixels));
  }

  finish() {
    this.bytes.push(0x3b);
    return new Blob([new Uint8Array(this.bytes)], { type: 'image/gif' });
  }

  text(letters) {
    this.bytes.push(...[...letters].map((letter) => letter.charCodeAt(0)));
  }

  short(value) {
    this.bytes.push(value & 255, value >> 8);
  }

  indexed(pixels) {
    const words = new Uint32Array(pixels.buffer);
    const places = new Uint8Array(words.length);
    for (let i = 0; i < words.length; i += 1) {
      let place = this.known.get(words[i]);
      if (place === undefined) {
        place = nearest(pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]);
        this.known.set(words[i], place);
      }
      places[i] = place;
    }
    return places;
  }

  compress(places) {
    const [clear, end] = [256, 257];
    let [size, next] = [9, 258];
    let codes = new Map(); // code of a string times 256 plus the next place → code
    let [buffer, filled] = [0, 0];
    let block = [];
    const put = (code) => {
      buffer |= code << filled;
      filled += size;
      while (filled >= 8) {
        block.push(buffer & 255);
        buffer >>>= 8;
        filled -= 8;
        if (block.length === 255) {
          this.bytes.push(255, ...block);
          block = [];
        }
      }
    };
    this.bytes.push(8);
    put(clear);
    let current = places[0];
    for (let i = 1; i < places.length; i += 1) {
      const key = current * 256 + places[i];
      const code = codes.get(key);
      if (code !== undefined) {
        current = code;
        continue;
      }
      put(current);
      current = places[i];
      if (next < MAX_CODES) {
        codes.set(key, next);
        size += next === 1 << size ? 1 : 0;
        next += 1;
      } else {
        put(clear);
        [size, next, codes] = [9, 258, new Map()];
      }
    }
    put(current);
    put(end);
    if (filled) {
      block.push(buffer & 255);
    }
    if (block.length) {
      this.bytes.push(block.length, ...block);
    }
    this.bytes.push(0);
  }
}

function palette() {
  const colours = [];
  const level = (i) => Math.round((255 * i) / (LEVELS - 1));
  for (let i = 0; i < LEVELS ** 3; i += 1) {
    colours.push(level(Math.floor(i / 36)), level(Math.floor(i / 6) % 6), level(i % 6));
  }
  for (let i = 0; i < GREYS; i += 1) {
    const grey = Math.round((255 * i) / (GREYS - 1));
    colours.push(grey, grey, grey);
  }
  return colours;
}

function nearest(red, green, blue) {
  const [low, high] = [Math.min(red, green, blue), Math.max(red, green, blue)];
  if (high - low < 14) {
    return LEVELS ** 3 + Math.round(((GREYS - 1) * (red + green + blue)) / 765);
  }
  const level = (value) => Math.round(((LEVELS - 1) * value) / 255);
  return 36 * level(red) + 6 * level(green) + level(blue);
}
