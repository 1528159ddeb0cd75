// @ts-check
// Paints the marks. Each line three times: the ink, and two edges that stand out on any page.

const DRAW_SVG = 'http://www.w3.org/2000/svg';

/** @param {string} name @param {Record<string, string | number>} attributes */
function drawShape(name, attributes) {
  const shape = document.createElementNS(DRAW_SVG, name);
  for (const [key, value] of Object.entries(attributes)) shape.setAttribute(key, String(value));
  return shape;
}

/** @param {DrawPoint[]} points */
function drawLine(points) {
  return `M${points.map(([x, y]) => `${x} ${y}`).join('L')}`;
}

/** @param {DrawMark} mark @returns {string} the way of its line */
function drawPath({ kind, points }) {
  if (points.length < 2) return '';
  if (kind === 'arrow') return drawLine(points) + drawLine(drawArrowHead(points));
  if (kind === 'freehand') return drawLine(points);
  const { x, y, width, height } = drawBoxOf(points);
  return `M${x} ${y}h${width}v${height}h${-width}Z`;
}

/** @param {string} path @param {string[]} classes */
function drawStrokes(path, classes) {
  return classes.map((name) => drawShape('path', { d: path, class: name }));
}

/** Its number, as the annotation's id. @param {DrawMark} mark */
function drawBadge({ id, kind, points }) {
  const box = drawBoxOf(points);
  const [x, y] = kind === 'rectangle' ? [box.x, box.y] : points[0];
  const [cx, cy] = [Math.max(x, 12), Math.max(y, 12)];
  const number = drawShape('text', { x: cx, y: cy });
  number.textContent = String(id);
  return [drawShape('circle', { cx, cy, r: 10 }), number];
}

class DrawView {
  #svg = drawShape('svg', { 'aria-hidden': 'true' });
  #labels = document.createElement('div');
  #marks = drawShape('g', {});
  #pending = drawShape('g', {});
  #cross = drawShape('g', {});

  #area;

  /** @param {() => DrawSize} area what can be drawn on */
  constructor(area) {
    this.#area = area;
    this.#svg.append(this.#marks, this.#pending, this.#cross);
    this.parts = [this.#svg, this.#labels];
  }

  /** @param {DrawMark[]} marks */
  showMarks(marks) {
    this.#marks.replaceChildren(...marks.flatMap((mark) => [...this.#strokes(mark), ...drawBadge(mark)]));
    const notes = marks.filter(({ text }) => text !== undefined);
    this.#labels.replaceChildren(...notes.map((mark) => this.#label(mark)));
  }

  /** @param {DrawMark | null} mark */
  showPending(mark) {
    this.#pending.replaceChildren(...(mark ? this.#strokes(mark) : []));
  }

  /** @param {DrawPoint | null} at where the keyboard draws */
  showCross(at) {
    const [x, y] = at ?? [0, 0];
    const path = `M${x - 14} ${y}h28M${x} ${y - 14}v28`;
    this.#cross.replaceChildren(...(at ? drawStrokes(path, ['cross-halo', 'cross']) : []));
  }

  /** @param {DrawMark} mark */
  #strokes(mark) {
    return drawStrokes(drawPath(mark), ['edge', 'halo', 'ink']);
  }

  /** @param {DrawMark} mark */
  #label({ points: [at], text = '' }) {
    const label = document.createElement('div');
    label.className = 'label';
    label.textContent = text;
    drawPlace(label, at, this.#area());
    return label;
  }
}

/** Puts something beside a point so that it stays in view. @param {HTMLElement} element @param {DrawPoint} at @param {DrawSize} area */
function drawPlace(element, [x, y], { width, height }) {
  const isRight = x > width - 290;
  const isLow = y > height - 110;
  element.style.setProperty(isRight ? 'right' : 'left', `${isRight ? width - x + 14 : x + 14}px`);
  element.style.setProperty(isLow ? 'bottom' : 'top', `${isLow ? height - y - 6 : y - 6}px`);
}
