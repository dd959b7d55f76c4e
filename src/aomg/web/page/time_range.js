// Which part of time a view shows, as its address says: from=&to= is fixed, last= goes along with the newest window.

import {element, mark} from "./element.js";

export const LENGTHS = {"15m": 900, "1h": 3600, "6h": 21600, "24h": 86400};
const SAID = {"15m": "15 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", all: "All"};
const USUAL = "6h";
const AROUND_BEFORE = 1800e3;
const AROUND_AFTER = 900e3;

// {kind: "between", from, to} or {kind: "last", name} or {kind: "all"}. A link to a time shows what was around it.
export function rangeOf(address) {
  const [from, to, at] = ["from", "to", "at"].map((name) => Date.parse(address.get(name)));
  if (from < to) return {kind: "between", from, to};
  const last = address.get("last");
  if (last === "all") return {kind: "all"};
  if (last in LENGTHS) return {kind: "last", name: last};
  if (!Number.isNaN(at)) return {kind: "between", from: at - AROUND_BEFORE, to: at + AROUND_AFTER, around: true};
  return {kind: "last", name: USUAL};
}

// What to ask the server for: a little more than is shown, so that lines go on to the edges.
export function askedRange(range, query) {
  const period = (query?.period_seconds ?? 60) * 1000;
  const newest = Date.parse(query?.newest_end);
  if (range.kind === "between") return {from: text(range.from - 2 * period), to: text(range.to + 2 * period)};
  if (range.kind === "last" && !Number.isNaN(newest)) return {from: text(newest - LENGTHS[range.name] * 1000 - 2 * period)};
  return {};
}

// The two ends that are drawn. first and newest: of the data, in milliseconds. Around a time nothing is shown that has
// no data; a zoom is kept as it was chosen.
export function shownRange(range, first, newest, period = 60000) {
  if (range.kind === "between" && !range.around) return [new Date(range.from), new Date(range.to)];
  if (range.around) return [new Date(Math.max(range.from, first - period)), new Date(Math.min(range.to, newest + period))];
  const begin = range.kind === "last" ? Math.max(first, newest - LENGTHS[range.name] * 1000) : first;
  const room = Math.max((newest - begin) * 0.01, period / 2);
  return [new Date(begin - room), new Date(newest + room)];
}

export function text(milliseconds) {
  return new Date(Math.round(milliseconds)).toISOString();
}

// What the address says after a zoom.
export function zoomed(from, to) {
  return {from: text(from), to: text(to), last: null};
}

// Buttons for the lengths; press(name) is told "1h" or "all". show(range) marks the one that holds.
export function rangeButtons(press) {
  const buttons = Object.entries(SAID).map(([name, said]) => element("button", {type: "button", "data-range": name, onclick: () => press(name)}, said));
  const place = element("div", {class: "choice", role: "group", "aria-label": "Time shown"}, buttons);
  return {
    place,
    show(range) {
      const name = range.kind === "last" ? range.name : range.kind;
      for (const button of buttons) mark(button, "aria-pressed", String(button.dataset.range === name));
    },
  };
}
