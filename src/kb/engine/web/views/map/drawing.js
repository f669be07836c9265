// The map on its canvas. Drawn anew only when something changed, all points of a colour as one path.

const DIMMED = 0.16;
// With more in view, titles would hide what they name.
const MOST_IN_VIEW = 160;
const LABEL_HEIGHT = 16;
const LABEL_CHARACTERS = 42;

/**
 * `scene`: {documents, groups: [{indices}], colours, text, ground, lit: Set of indices or null, pointed: index or -1}. The context is already
 * scaled to CSS pixels.
 */
export function drawMap(context, viewport, scene) {
  const { width, height } = viewport;
  context.clearRect(0, 0, width, height);
  const radius = pointRadius(viewport.zoom, scene.documents.length);
  scene.groups.forEach(({ indices }, group) => {
    const [faint, clear] = scene.lit ? split(indices, scene.lit) : [[], indices];
    drawPoints(context, viewport, scene, faint, { radius, colour: scene.colours[group], alpha: DIMMED });
    drawPoints(context, viewport, scene, clear, { radius: scene.lit ? radius * 1.5 : radius, colour: scene.colours[group], alpha: 0.88 });
  });
  if (scene.pointed >= 0) drawRing(context, viewport, scene, radius);
  drawLabels(context, viewport, scene, radius);
}

/** In CSS pixels: many documents are small, and grow as one comes nearer. */
export function pointRadius(zoom, documents) {
  const whole = documents > 3000 ? 2.2 : documents > 500 ? 3.2 : 5;
  return Math.min(9, whole * zoom ** 0.4);
}

function split(indices, lit) {
  const clear = indices.filter((index) => lit.has(index));
  return [indices.filter((index) => !lit.has(index)), clear];
}

function drawPoints(context, viewport, { documents }, indices, { radius, colour, alpha }) {
  context.beginPath();
  for (const index of indices) {
    const [left, top] = viewport.toScreen(documents[index].x, documents[index].y);
    if (left < -radius || top < -radius || left > viewport.width + radius || top > viewport.height + radius) continue;
    context.moveTo(left + radius, top);
    context.arc(left, top, radius, 0, 2 * Math.PI);
  }
  context.globalAlpha = alpha;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 1;
}

function drawRing(context, viewport, scene, radius) {
  const document = scene.documents[scene.pointed];
  context.beginPath();
  context.arc(...viewport.toScreen(document.x, document.y), radius + 4, 0, 2 * Math.PI);
  context.strokeStyle = scene.text;
  context.lineWidth = 2;
  context.stroke();
}

/** Titles, where there is room: of what is pointed at, of what is lit, and of others when few are in view. */
function drawLabels(context, viewport, scene, radius) {
  context.font = "12.5px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const { indices, places } = labelled(viewport, scene);
  const taken = [];
  for (const index of indices) {
    const text = shorten(scene.documents[index].title);
    const box = boxBeside(places.get(index), context.measureText(text).width, radius, viewport.width);
    const isWanted = index === scene.pointed;
    if (!isWanted && (taken.some((other) => overlap(box, other)) || hides(box, index, places))) continue;
    taken.push(box);
    context.strokeStyle = scene.ground;
    context.lineWidth = 4;
    context.strokeText(text, box.left, box.top + LABEL_HEIGHT / 2);
    context.fillStyle = scene.text;
    context.fillText(text, box.left, box.top + LABEL_HEIGHT / 2);
  }
}

const shorten = (title) => (title.length > LABEL_CHARACTERS ? `${title.slice(0, LABEL_CHARACTERS - 1)}…` : title);

/** To the right of the point, or to its left where the map ends. */
function boxBeside([x, y], width, radius, mapWidth) {
  const right = x + radius + 5;
  const left = right + width < mapWidth ? right : x - radius - 5 - width;
  return { left, right: left + width, top: y - LABEL_HEIGHT / 2, bottom: y + LABEL_HEIGHT / 2 };
}

function hides(box, own, places) {
  for (const [index, [x, y]] of places) {
    if (index !== own && x > box.left - 3 && x < box.right + 3 && y > box.top && y < box.bottom) return true;
  }
  return false;
}

/** The documents that may have a label, the most wanted first, and where on the screen each of them stands. */
function labelled(viewport, { documents, lit, pointed }) {
  const places = new Map();
  const note = (index) => places.set(index, viewport.toScreen(documents[index].x, documents[index].y));
  if (pointed >= 0) note(pointed);
  for (const index of lit ?? documents.keys()) {
    if (viewport.shows(documents[index].x, documents[index].y)) note(index);
    if (!lit && places.size > MOST_IN_VIEW) return { indices: pointed >= 0 ? [pointed] : [], places };
  }
  return { indices: [...places.keys()], places };
}

const overlap = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
