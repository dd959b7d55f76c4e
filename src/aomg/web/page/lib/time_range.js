// The time range of a view, from its address: from= and to= are fixed, last= follows the newest window.

import {element, mark} from "./element.js";

export const LENGTHS = {"15m": 900, "1h": 3600, "6h": 21600, "24h": 86400};
const NAMES = {"15m": "15 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", all: "All"};
const DEFAULT = "6h";
const AROUND_BEFORE = 1800e3;
const AROUND_AFTER = 900e3;

// {kind: "between", from, to} or {kind: "last", name} or {kind: "all"}. Without from or to the range is open on that side
// (infinite). A link to a time (at=) shows the time around it.
export function rangeOf(address) {
  const [from, to, moment] = ["from", "to", "at"].map((name) => Date.parse(address.get(name)));
  const [begin, end] = [Number.isNaN(from) ? -Infinity : from, Number.isNaN(to) ? Infinity : to];
  if (begin < end && (begin > -Infinity || end < Infinity)) return {kind: "between", from: begin, to: end};
  const last = address.get("last");
  if (last === "all") return {kind: "all"};
  if (last in LENGTHS) return {kind: "last", name: last};
  if (!Number.isNaN(moment)) return {kind: "between", from: moment - AROUND_BEFORE, to: moment + AROUND_AFTER, around: true};
  return {kind: "last", name: DEFAULT};
}

// The range to request: `more` periods on both sides than is shown, so that lines reach the edges.
export function requestedRange(range, query, more = 2) {
  const period = (query?.period_seconds ?? 60) * 1000;
  const newest = Date.parse(query?.newest_end);
  if (range.kind === "between") return {from: text(range.from - more * period), to: text(range.to + more * period)};
  if (range.kind === "last" && !Number.isNaN(newest)) return {from: text(newest - LENGTHS[range.name] * 1000 - more * period)};
  return {};
}

// The two ends to draw, in milliseconds, never equal. first and newest: of the data, NaN if there is none. The range
// around a time is cut to the data; a zoom stays as it was chosen.
export function drawnRange(range, first, newest, period = 60000) {
  const last = Number.isNaN(newest) ? (Number.isFinite(range.to) ? range.to : Date.now()) : newest;
  const begin = Number.isNaN(first) ? last : first;
  if (range.around) {
    const [from, to] = [Math.max(range.from, begin - period), Math.min(range.to, last + period)];
    return Number.isNaN(first) || from >= to ? [range.from, range.to] : [from, to];
  }
  if (range.kind === "between") {
    const from = range.from > -Infinity ? range.from : Math.min(begin, range.to) - period / 2;
    return [from, range.to < Infinity ? range.to : Math.max(last, from + period) + period / 2];
  }
  const long = range.kind === "last" ? LENGTHS[range.name] * 1000 : Infinity;
  const start = Number.isNaN(first) ? last - Math.min(long, LENGTHS[DEFAULT] * 1000) : Math.max(begin, last - long);
  const margin = Math.max((last - start) * 0.01, period / 2);
  return [start - margin, last + margin];
}

// A time for the address; null for an open end.
export function text(milliseconds) {
  return Number.isFinite(milliseconds) ? new Date(Math.round(milliseconds)).toISOString() : null;
}

// The parameters of the address after a zoom.
export function zoomed(from, to) {
  return {from: text(from), to: text(to), last: null};
}

// Buttons for the lengths; press(name) gets "1h" or "all". show(range) marks the active one.
export function rangeButtons(press) {
  const buttons = Object.entries(NAMES).map(([name, text]) => element("button", {type: "button", "data-range": name, onclick: () => press(name)}, text));
  const place = element("div", {class: "choice", role: "group", "aria-label": "Time shown"}, buttons);
  return {
    place,
    show(range) {
      const name = range.kind === "last" ? range.name : range.kind;
      for (const button of buttons) mark(button, "aria-pressed", String(button.dataset.range === name));
    },
  };
}
