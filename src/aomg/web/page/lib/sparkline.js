// Sparklines: a few dozen numbers as a small SVG, with a point for the newest.

import {element, mark} from "./element.js";

const WIDTH = 100;
const HEIGHT = 28;
const EDGE = 3;
// The scale spans at least this share of the highest value, so that the noise of a quiet key stays small.
const LEAST_SPAN = 0.5;

export function sparkline() {
  const path = element("path");
  const point = element("circle", {r: 2.2});
  const svg = element("svg", {class: "spark", "aria-hidden": "true", focusable: "false"}, path, point);
  return {svg, path, point, drawn: null};
}

// Above this ratio of highest to lowest value, a common scale is logarithmic: one outlier must not flatten all others.
const LOG_FROM = 30;

// A scale for the sparklines of all keys: {low, high, log}; null if there are no values.
export function commonScale(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return null;
  const log = low > 0 && high / low > LOG_FROM;
  return {low: log ? low : Math.min(low, 0), high, log};
}

// Draws values, oldest first; null is a gap. `wide` is the width in pixels. Without a scale the line has its own. Changes
// the page only if the line differs.
export function drawSpark(spark, values, wide = WIDTH, scale = null) {
  const drawn = line(values ?? [], wide, scale);
  if (spark.drawn === drawn.d) return;
  spark.drawn = drawn.d;
  mark(spark.path, "d", drawn.d);
  mark(spark.point, "hidden", drawn.last === null);
  mark(spark.point, "cx", drawn.last?.[0]);
  mark(spark.point, "cy", drawn.last?.[1]);
}

export function line(values, wide, scale = null) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return {d: "", last: null};
  const height = scale === null ? ownHeight(low, high) : heightIn(scale);
  const step = values.length > 1 ? (wide - 2 * EDGE) / (values.length - 1) : 0;
  let d = "";
  let last = null;
  let drawing = false;
  values.forEach((value, position) => {
    if (value === null) {
      drawing = false;
      return;
    }
    const x = round(values.length > 1 ? EDGE + position * step : wide / 2);
    const y = round(HEIGHT - EDGE - height(value) * (HEIGHT - 2 * EDGE));
    // a number between two gaps is a line of length 0, which round line caps draw as a point
    const alone = !drawing && (position + 1 === values.length || values[position + 1] === null);
    d += drawing ? `L${x} ${y}` : `M${x} ${y}${alone ? "h0" : ""}`;
    drawing = true;
    if (position === values.length - 1) last = [x, y];
  });
  return {d, last};
}

// Both return a function from a value to its height, 0 to 1.
function ownHeight(low, high) {
  const span = Math.max(high - low, LEAST_SPAN * Math.abs(high), Number.MIN_VALUE);
  const bottom = high - low < span ? (high + low - span) / 2 : low;
  return (value) => (value - bottom) / span;
}

function heightIn({low, high, log}) {
  const place = log ? Math.log : (value) => value;
  const span = place(high) - place(low) || 1;
  return (value) => Math.min(Math.max((place(value) - place(low)) / span, 0), 1);
}

function round(number) {
  return Math.round(number * 10) / 10;
}
