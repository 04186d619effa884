// What pointer, wheel and touch do to the picture.

const CLICK = 5;

/** Listen on the stage: `camera` moves, `changed` is called after each move; `pointed` and `clicked` get pixels. */
export function listen(stage, camera, { ratio, changed, pointed, clicked }) {
  const pointers = new Map();
  let travelled = 0;
  const place = (event) => {
    const box = stage.getBoundingClientRect();
    return [(event.clientX - box.left) * ratio(), (event.clientY - box.top) * ratio()];
  };

  // The wheel and single fingers scroll the page until the picture has been clicked.
  stage.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== stage) return;
      event.preventDefault();
      const step = event.deltaMode === 1 ? 0.05 : 0.0015;
      camera.moving = null;
      camera.zoomAt(Math.exp(-event.deltaY * step * (event.ctrlKey ? 4 : 1)), ...place(event));
      changed();
    },
    { passive: false },
  );

  stage.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, place(event));
    stage.setPointerCapture(event.pointerId);
    if (pointers.size === 1) travelled = 0;
  });

  stage.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) return pointed(now);
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    camera.moving = null;
    if (pointers.size === 1) {
      if (travelled > CLICK) {
        camera.x -= (now[0] - before[0]) / camera.zoom;
        camera.y += (now[1] - before[1]) / camera.zoom;
        changed();
      }
    } else {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
      camera.zoomAt(distance(now, other) / distance(before, other), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      changed();
    }
    pointers.set(event.pointerId, now);
    return undefined;
  });

  const release = (event) => {
    const known = pointers.delete(event.pointerId);
    if (known && event.type === "pointerup" && travelled <= CLICK && !pointers.size) clicked(place(event));
  };
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => pointed(null));
  stage.addEventListener("dblclick", (event) => {
    camera.zoomAt(2, ...place(event));
    changed();
  });
}
