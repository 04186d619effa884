// The part of the plane that is shown, and how it moves.

const DEEPEST = 4000;
const FURTHEST = 0.5;

export class Camera {
  constructor() {
    this.x = 0;
    this.y = 0;
    // Pixels of the canvas for one unit of the plane, and that of the whole scene.
    this.zoom = 1;
    this.whole = 1;
    this.width = 1;
    this.height = 1;
    this.moving = null;
  }

  get scaleX() {
    return (2 * this.zoom) / this.width;
  }

  get scaleY() {
    return (2 * this.zoom) / this.height;
  }

  /** The rectangle in sight: left, low, right, high; wider by a share on every side. */
  sight(more = 0) {
    const across = ((0.5 + more) * this.width) / this.zoom;
    const up = ((0.5 + more) * this.height) / this.zoom;
    return [this.x - across, this.y - up, this.x + across, this.y + up];
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.zoom, this.height / 2 - (y - this.y) * this.zoom];
  }

  toPlane(px, py) {
    return [this.x + (px - this.width / 2) / this.zoom, this.y - (py - this.height / 2) / this.zoom];
  }

  /** Where a rectangle fills the picture; a margin for names around it. */
  fitted([left, low, right, high], margin = 0.06) {
    const room = 1 - 2 * margin;
    const zoom = Math.min((room * this.width) / Math.max(right - left, 1e-9), (room * this.height) / Math.max(high - low, 1e-9));
    return { x: (left + right) / 2, y: (low + high) / 2, zoom };
  }

  set({ x, y, zoom }) {
    this.x = x;
    this.y = y;
    this.zoom = Math.min(Math.max(zoom, FURTHEST * this.whole), DEEPEST * this.whole);
  }

  /** Zoom by a factor with one point of the screen held in place. */
  zoomAt(factor, px, py) {
    const [x, y] = this.toPlane(px, py);
    this.set({ x: this.x, y: this.y, zoom: this.zoom * factor });
    const [nextX, nextY] = this.toPlane(px, py);
    this.x += x - nextX;
    this.y += y - nextY;
  }

  /** Start a movement; `step` is then called in every frame until it is over. */
  glide(to, duration) {
    if (duration <= 0) {
      this.moving = null;
      this.set(to);
      return;
    }
    const from = { x: this.x, y: this.y, zoom: this.zoom };
    this.moving = { from, to, began: performance.now(), duration };
  }

  /** Move on; returns whether a movement is under way. */
  step(now) {
    if (!this.moving) return false;
    const { from, to, began, duration } = this.moving;
    const share = Math.min(1, Math.max(0, (now - began) / duration));
    const eased = share * share * (3 - 2 * share);
    const zoom = from.zoom * (to.zoom / from.zoom) ** eased;
    // The place moves with the size of the view, so that what is looked for does not shoot past.
    const part = Math.abs(to.zoom - from.zoom) < 1e-9 * from.zoom ? eased : (1 / from.zoom - 1 / zoom) / (1 / from.zoom - 1 / to.zoom);
    this.set({ x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, zoom });
    if (share === 1) this.moving = null;
    return true;
  }
}
