// Two pictures that a reader drags: by mouse, by finger, or with the arrow keys.
import { contents } from "./python.js";

const DARK = "var(--course-dark)";
const RUST = "var(--course-rust)";
const PALE = "var(--course-pale)";
const INK = "var(--pst-color-text-base)";
const GREY = "var(--pst-color-text-muted)";

const svg = (tag, attributes = {}, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
};
const text = (x, y, words, attributes = {}) =>
  svg("text", { x, y, fill: INK, "font-size": 13, ...attributes }, words);
const range = (count) => Array.from({ length: count }, (_, place) => place);
const between = (low, value, high) => Math.min(high, Math.max(low, value));

/** One shrink of FoBoS. */
const shrunk = (w, eta, l1, l2) =>
  (Math.sign(w) * Math.max(Math.abs(w) - eta * l1, 0)) / (1 + eta * l2);

/** A picture in `box`: `draw(width)` gives the parts of an SVG, its height, and words below it. */
class Picture {
  constructor(box, controls, draw) {
    this.draw = draw;
    this.svg = svg("svg", { role: "group", "aria-label": box.dataset.label, width: "100%" });
    this.words = document.createElement("p");
    this.words.setAttribute("role", "status");
    const inputs = controls.map(([name, options, act, words]) => {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type: "range", ...options });
      input.value = options.begin;
      const value = document.createElement("output");
      input.oninput = () => {
        act(Number(input.value));
        value.textContent = input.ariaValueText = words(Number(input.value));
        this.show();
      };
      label.append(Object.assign(document.createElement("span"), { textContent: name }), input, value);
      value.textContent = input.ariaValueText = words(options.begin);
      return label;
    });
    const sliders = Object.assign(document.createElement("div"), { className: "course-sliders" });
    sliders.append(...inputs);
    box.replaceChildren(this.svg, this.words, sliders);
    this.handles = [];
    new ResizeObserver(() => this.show()).observe(box);
  }

  /** A handle that stays in the SVG; `move(x, y)` takes pixels, `key(right, up)` steps. */
  handle(label, move, key) {
    const circle = svg("circle", { r: 9, fill: RUST, "fill-opacity": 0.85 });
    const area = svg("circle", { r: 22, fill: "transparent" });
    const group = svg("g", { tabindex: 0, role: "slider", "aria-label": label, class: "course-handle" }, area, circle);
    const drag = (event) => {
      const frame = this.svg.getBoundingClientRect();
      move(event.clientX - frame.left, event.clientY - frame.top);
      this.show();
    };
    group.onpointerdown = (event) => {
      group.setPointerCapture(event.pointerId);
      group.focus();
      event.preventDefault();
    };
    group.onpointermove = (event) => group.hasPointerCapture(event.pointerId) && drag(event);
    group.onkeydown = (event) => {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      if (!step[event.key]) return;
      event.preventDefault();
      key(...step[event.key]);
      this.show();
    };
    this.handles.push(group);
    return (x, y, now, low, high, words) => {
      group.setAttribute("transform", `translate(${x} ${y})`);
      const values = { valuenow: now, valuemin: low, valuemax: high, valuetext: words };
      for (const [name, value] of Object.entries(values)) group.setAttribute(`aria-${name}`, value);
    };
  }

  show() {
    const width = this.svg.clientWidth;
    if (!width) return;
    const { parts, height, words } = this.draw(width);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const drawn = svg("g", { "pointer-events": "none" }, ...parts);
    // The handles are never taken out: one of them may be held or have the focus.
    if (this.drawn) this.drawn.replaceWith(drawn);
    else this.svg.append(drawn, ...this.handles);
    this.drawn = drawn;
    this.words.textContent = words;
  }
}

/** A weight that shrinks between two visits, step by step and at once. */
function shrink(box) {
  const last = 80;
  const eta = 0.1;
  const state = { l1: 0.05, l2: 0.15, start: 0.8, visit: 45, set: 0.6 };
  let place;
  const at = (x, y) => [
    between(1, Math.round(((x - place.left) / (place.right - place.left)) * last), last - 1),
    between(0.05, 1 - (y - place.top) / (place.bottom - place.top), 1),
  ];
  const picture = new Picture(
    box,
    [
      ["l1", { min: 0, max: 0.2, step: 0.01, begin: 0.05 }, (v) => (state.l1 = v), (v) => v.toFixed(2)],
      ["l2", { min: 0, max: 1, step: 0.05, begin: 0.15 }, (v) => (state.l2 = v), (v) => v.toFixed(2)],
    ],
    (width) => {
      place = { left: 34, right: width - 14, top: 14, bottom: 226 };
      const x = (t) => place.left + (t / last) * (place.right - place.left);
      const y = (w) => place.bottom - w * (place.bottom - place.top);
      const { l1, l2, start, visit, set } = state;
      const steps = [start];
      for (const t of range(visit)) steps.push(shrunk(steps[t], eta, l1, l2));
      const reached = steps[visit];
      const after = [set];
      for (const t of range(last - visit)) after.push(shrunk(after[t], eta, l1, l2));
      const rho = (1 + eta * l2) ** -visit;
      const taken = l2 ? (l1 / l2) * (1 - rho) : visit * eta * l1;
      const once = Math.max(rho * start - taken, 0);
      const dots = [...steps.map((w, t) => [t, w]), ...after.map((w, t) => [visit + t, w])];
      const parts = [
        svg("path", { d: `M${x(0)} ${y(1)}V${y(0)}H${x(last)}`, fill: "none", stroke: GREY }),
        ...[0, 0.5, 1].map((w) => text(x(0) - 7, y(w) + 4, w.toFixed(1), { "text-anchor": "end" })),
        ...[0, 20, 40, 60, 80].map((t) => text(x(t), y(0) + 18, t, { "text-anchor": "middle" })),
        text((x(0) + x(last)) / 2, y(0) + 36, "step", { "text-anchor": "middle" }),
        svg("path", { d: `M${x(visit)} ${y(1)}V${y(0)}`, stroke: PALE }),
        ...dots.map(([t, w]) => svg("circle", { cx: x(t), cy: y(w), r: 2, fill: DARK })),
        svg("circle", { cx: x(visit), cy: y(reached), r: 7, fill: "none", stroke: DARK, "stroke-width": 2 }),
      ];
      first(x(0), y(start), start, 0.05, 1, `weight ${start.toFixed(2)} at step 0`);
      second(x(visit), y(set), visit, 1, last - 1, `step ${visit}, weight ${set.toFixed(2)}`);
      const words =
        `The first visit leaves the weight at ${start.toFixed(2)}. The second visit, at step ${visit}, ` +
        `needs its present value (the ring): ${visit} shrinks one by one give ${reached.toFixed(12)}, ` +
        `the closed form at once gives ${once.toFixed(12)}.`;
      return { parts, height: 268, words };
    },
  );
  const first = picture.handle(
    "Weight after the first visit",
    (x, y) => (state.start = at(x, y)[1]),
    (_, up) => (state.start = between(0.05, state.start + 0.02 * up, 1)),
  );
  const second = picture.handle(
    "Step of the second visit, and the weight after it",
    (x, y) => ([state.visit, state.set] = at(x, y)),
    (right, up) => {
      state.visit = between(1, state.visit + right, last - 1);
      state.set = between(0.05, state.set + 0.02 * up, 1);
    },
  );
}

/** What dense updates and the clock write in each step of the same training. */
function clock(box) {
  const last = 30;
  const [eta, l1, l2] = [0.15, 0.05, 0.1];
  const state = { step: 12, features: 10 };
  let place;
  const touched = (t, features) => {
    const first = (7 * t + 3 * Math.floor(t / 4)) % features;
    return [first, (first + 1 + ((3 * t) % (features - 1))) % features];
  };
  const picture = new Picture(
    box,
    [
      ["features", { min: 6, max: 40, step: 1, begin: 10 }, (v) => (state.features = v), String],
    ],
    (width) => {
      const { step, features } = state;
      const tall = 150;
      place = { left: 4, right: width - 96 };
      const x = (t) => place.left + (t / last) * (place.right - place.left);
      const [cell, row] = [(place.right - place.left) / last, tall / features];
      const [top, below, foot] = [44, 44 + tall + 30, 44 + 2 * tall + 30 + 20];
      const dense = Array(features).fill(0);
      const stored = Array(features).fill(0);
      let [scale, shift] = [1, 0];
      const load = (j) => Math.sign(stored[j]) * Math.max(Math.abs(stored[j]) - shift, 0) * scale;
      const gap = row > 5 ? 1 : 0.4;
      const box = (t, j, y, height, fill) =>
        svg("rect", { x: x(t), y, width: cell - 1, height: Math.max(height - gap, 0.5), fill });
      const parts = [];
      for (const t of range(step)) {
        const now = touched(t, features);
        const target = t % 3 ? 1 : -1;
        const told = now.reduce((sum, j) => sum + dense[j], 0);
        const lazily = now.reduce((sum, j) => sum + load(j), 0);
        for (const j of now) {
          dense[j] -= eta * (told - target);
          const w = load(j) - eta * (lazily - target);
          stored[j] = Math.sign(w) * (Math.abs(w) / scale + shift);
        }
        for (const j of range(features)) {
          dense[j] = shrunk(dense[j], eta, l1, l2);
          parts.push(box(t, j, top + j * row, row, now.includes(j) ? DARK : PALE));
        }
        const a = 1 / (1 + eta * l2);
        scale *= a;
        shift += (a * eta * l1) / scale;
        for (const j of now) parts.push(box(t, j, below + j * row, row, DARK));
        parts.push(box(t, 0, below + tall + 6, 12, RUST));
      }
      const frame = (y, height) =>
        svg("rect", { x: x(0) - 1, y: y - 1, width: x(last) - x(0) + 1, height: height + 1, fill: "none", stroke: PALE });
      const size = 70 / Math.max(0.3, ...dense.map(Math.abs));
      const bars = (y, weights) =>
        weights.map((w, j) =>
          svg("rect", { x: place.right + 20, y: y + j * row, width: Math.abs(w) * size, height: Math.max(row - gap, 0.5), fill: DARK }),
        );
      const now = range(features).map(load);
      parts.push(
        frame(top, tall), frame(below, tall), frame(below + tall + 6, 12),
        text(x(0), top - 8, "dense updates"), text(x(0), below - 8, "the clock"),
        text(place.right + 20, top - 8, "weights"), text(place.right + 20, below - 8, "weights"),
        text(place.right + 20, below + tall + 16, "scale, shift", { fill: RUST, "font-size": 12 }),
        ...bars(top, dense), ...bars(below, now),
        svg("path", { d: `M${x(step)} 20V${foot}`, stroke: RUST, "stroke-width": 2 }),
      );
      hand(x(step), 14, step, 0, last, `step ${step}`);
      const apart = Math.max(...now.map((w, j) => Math.abs(w - dense[j])));
      const words =
        `After ${step} steps, dense updates have written ${step * features} numbers: every weight in every step. ` +
        `The clock has written ${4 * step}: the two weights of each example, scale and shift. ` +
        `The greatest difference between the weights is ${apart ? apart.toExponential(0) : 0}.`;
      return { parts, height: foot + 6, words };
    },
  );
  const move = (x) => ((x - place.left) / (place.right - place.left)) * last;
  const hand = picture.handle(
    "Step of the training",
    (x) => (state.step = between(0, Math.round(move(x)), last)),
    (right, up) => (state.step = between(0, state.step + right + up, last)),
  );
}

for (const box of document.querySelectorAll("[data-picture]"))
  ({ shrink, clock })[box.dataset.picture](box);

// A link from this page starts Python; where the site has none, the pages say so.
if ((await contents()).version)
  for (const link of document.querySelectorAll('.bd-article a[href*="notebooks/0"]'))
    link.search = "?run";
