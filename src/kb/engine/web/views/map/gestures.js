// Drag, pinch, wheel and click on the canvas, told as what they mean.

const CLICK_PIXELS = 5;

/** `to`: {pan(right, down), zoom(left, top, factor), point(left, top) or point(null), press(left, top)}. */
export function followGestures(canvas, to) {
  const pointers = new Map();
  let travelled = 0;

  const place = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (pointers.size === 0) travelled = 0;
    pointers.set(event.pointerId, place(event));
  });

  canvas.addEventListener("pointermove", (event) => {
    const [left, top] = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) return to.point(left, top);
    const [right, down] = [left - before[0], top - before[1]];
    travelled += Math.abs(right) + Math.abs(down);
    if (pointers.size === 1) to.pan(right, down);
    else pinch(pointers, event.pointerId, [left, top], to);
    pointers.set(event.pointerId, [left, top]);
  });

  const release = (event) => {
    const wasOnly = pointers.delete(event.pointerId) && pointers.size === 0;
    if (event.type === "pointerup" && wasOnly && travelled < CLICK_PIXELS) to.press(...place(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => to.point(null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      to.zoom(...place(event), Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016)));
    },
    { passive: false },
  );
}

function pinch(pointers, moved, now, to) {
  const other = [...pointers].find(([id]) => id !== moved)?.[1];
  const before = pointers.get(moved);
  const factor = Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(before[0] - other[0], before[1] - other[1]));
  to.zoom((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, factor);
}
