// Which part of the map is seen: pure arithmetic between the map, whose documents lie between -1 and 1, and pixels.

const FIT = 0.46;
const NEAREST_SCALE = 60;

export class Viewport {
  x = 0;
  y = 0;
  /** 1 shows the whole map. */
  zoom = 1;
  #width = 1;
  #height = 1;

  resize(width, height) {
    this.#width = Math.max(1, width);
    this.#height = Math.max(1, height);
  }

  get width() {
    return this.#width;
  }

  get height() {
    return this.#height;
  }

  /** Pixels for a distance of 1 on the map. */
  get scale() {
    return FIT * Math.min(this.#width, this.#height) * this.zoom;
  }

  toScreen(x, y) {
    return [this.#width / 2 + (x - this.x) * this.scale, this.#height / 2 - (y - this.y) * this.scale];
  }

  toMap(left, top) {
    return [this.x + (left - this.#width / 2) / this.scale, this.y - (top - this.#height / 2) / this.scale];
  }

  shows(x, y) {
    const [left, top] = this.toScreen(x, y);
    return left >= 0 && left <= this.#width && top >= 0 && top <= this.#height;
  }

  panBy(right, down) {
    this.x = clamp(this.x - right / this.scale, -1.2, 1.2);
    this.y = clamp(this.y + down / this.scale, -1.2, 1.2);
  }

  /** What is under the pointer stays there. */
  zoomAt(left, top, factor) {
    const [x, y] = this.toMap(left, top);
    this.zoom = clamp(this.zoom * factor, 0.8, NEAREST_SCALE);
    const [nowX, nowY] = this.toMap(left, top);
    this.x = clamp(this.x + x - nowX, -1.2, 1.2);
    this.y = clamp(this.y + y - nowY, -1.2, 1.2);
  }

  zoomBy(factor) {
    this.zoomAt(this.#width / 2, this.#height / 2, factor);
  }

  showAll() {
    this.lookAt(0, 0, 1);
  }

  lookAt(x, y, zoom) {
    this.x = clamp(x, -1.2, 1.2);
    this.y = clamp(y, -1.2, 1.2);
    this.zoom = clamp(zoom, 0.8, NEAREST_SCALE);
  }
}

const clamp = (value, least, most) => (Number.isFinite(value) ? Math.min(Math.max(value, least), most) : least);
