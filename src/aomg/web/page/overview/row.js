// One row of the table of keys: created once, then only changed cells are written.

import {element, mark, write} from "../lib/element.js";
import {commonScale, drawSpark, sparkline} from "../lib/sparkline.js";
import {brief, duration, estimate, keyText, quantity, time, timeWithUtc, titleOf, unitFor, whole, width} from "../lib/format.js";

// Longer values get a smaller font on narrow screens: exact numbers have up to seven digits.
const LONG = 8;
const BURST = "Burst: the newest part of the window has a larger tail than the part before";
const SHARED = `${BURST}. At least half of all keys have one in this window, so they share a cause.`;

// addressOf(row): the address of its link; silentNow(): whether the rows are of silent keys; ownScale(): whether each trend
// has its own scale.
export function keyRow(query, addressOf, silentNow, ownScale) {
  const units = query.estimates.map((one) => unitFor(query, one.name));
  let chosen = null;
  let windowEnd = null; // the end of the displayed window; rows of silent keys are older
  let isShared = false; // bursts of the displayed window
  let scale = null;

  function make() {
    const link = element("a", {tabindex: "-1"}, "");
    const spark = sparkline();
    const estimates = query.estimates.map((one, position) =>
      element("div", {class: "cell number estimate", role: "cell", "data-title": one.title, "data-extra": position >= 4}, element("b", null, ""), element("i", null, "")));
    const wide = element("div", {class: "cell number small width", role: "cell"}, "");
    const worst = element("div", {class: "cell number worst", role: "cell"}, element("b", null, ""), element("i", null, ""));
    const events = element("div", {class: "cell number small events", role: "cell"}, "");
    const alert = element("span", {class: "mark", hidden: true}, "");
    const burst = element("span", {class: "mark", "data-state": "burst", hidden: true}, "burst");
    const silent = element("span", {class: "mark", "data-state": "silent", hidden: true}, "");
    const row = element("div", {class: "line row", role: "row"},
      element("div", {class: "cell key", role: "cell"}, link, element("div", {class: "states"}, alert, burst, silent)),
      element("div", {class: "cell trend", role: "cell"}, spark.svg), worst, estimates, wide, events);
    row.cells = {link, spark, estimates, wide, worst, events, alert, burst, silent};
    row.content = undefined;
    return row;
  }

  function fill(row, data) {
    const cells = row.cells;
    if (row.chosen !== chosen) {
      row.chosen = chosen;
      query.estimates.forEach((one, position) => cells.estimates[position].classList.toggle("chosen", one.name === chosen));
    }
    if (data !== null) drawSpark(cells.spark, data.spark, 100, ownScale() ? null : scale);
    if (row.content === data) return;
    row.content = data;
    mark(row, "data-waiting", data === null);
    mark(row, "aria-busy", data === null ? "true" : null);
    if (data === null) {
      mark(cells.link, "href", null);
      write(cells.link, "…");
      mark(cells.link, "aria-label", null);
      return;
    }
    const texts = textsOf(data);
    write(cells.link, texts.name);
    mark(cells.link, "href", addressOf(data));
    mark(cells.link, "title", keyText(data.key, true));
    mark(cells.link, "aria-label", keyText(data.key, true));
    texts.estimates.forEach(([value, interval], position) => {
      const [one, data_] = [query.estimates[position], data.estimates[query.estimates[position].name]];
      const [bold, beneath] = cells.estimates[position].children;
      write(bold, value);
      mark(cells.estimates[position], "data-long", value.length > LONG);
      write(beneath, interval);
      mark(cells.estimates[position], "title", data_ ? tooltip(one.title, data_, units[position]) : null);
    });
    write(cells.worst.children[0], texts.worst[0]);
    write(cells.worst.children[1], texts.worst[1]);
    const estimateName = chosen ?? query.estimates[0]?.name;
    mark(cells.worst, "title", data.worst ? `Highest of the trend: ${tooltip(titleOf(query, estimateName), data.worst, unitFor(query, estimateName))}, in the window that ended ${timeWithUtc(data.worst.end)}` : null);
    write(cells.wide, width(data.width));
    write(cells.events, brief(data.count));
    mark(cells.events, "title", `${whole(data.count)} events in ${data.sub_windows} ${data.sub_windows === 1 ? "sub-window" : "sub-windows"}; lowest value ${quantity(data.min, query.unit)}, highest ${quantity(data.max, query.unit)}`);
    mark(cells.burst, "hidden", !data.burst);
    mark(cells.burst, "data-shared", isShared);
    mark(cells.burst, "title", isShared ? SHARED : BURST);
    write(cells.burst, isShared ? "shared burst" : "burst");
    const silent = silentNow() && windowEnd !== null;
    mark(cells.silent, "hidden", !silent);
    if (silent) {
      mark(cells.silent, "title", `This row shows its newest window, which ended ${timeWithUtc(data.end)}`);
      write(cells.silent, silentText(data));
    }
    mark(cells.alert, "hidden", !data.alert);
    if (data.alert) {
      mark(cells.alert, "data-state", data.alert.state);
      mark(cells.alert, "title", data.alert.rule + (data.alert.more > 0 ? ` and ${data.alert.more} more` : ""));
      write(cells.alert, alertText(data));
    }
  }

  const alertText = ({alert}) => (alert.more > 0 ? `${alert.state} +${alert.more}` : alert.state);
  const silentText = (data) => `silent ${duration((Date.parse(windowEnd) - Date.parse(data.end)) / 1000)}`;

  // Without the day, if it is that of the window.
  function worstTime(end) {
    const [whole, clock] = [time(end), time(end).split(", ").at(-1)];
    return windowEnd !== null && time(windowEnd).slice(0, -clock.length) === whole.slice(0, -clock.length) ? clock : whole;
  }

  // What a row shows, for columnWidths().
  function textsOf(data) {
    const estimateName = chosen ?? query.estimates[0]?.name;
    const {worst} = data;
    return {
      name: keyText(data.key),
      marks: [data.alert ? alertText(data) : null, data.burst ? (isShared ? "shared burst" : "burst") : null, silentNow() && windowEnd !== null ? silentText(data) : null].filter(Boolean),
      estimates: query.estimates.map((one, position) => {
        const known = data.estimates[one.name];
        const texts = estimate(known?.value, known?.low, known?.high, units[position], known?.method);
        return [texts.value, texts.interval];
      }),
      worst: worst ? [estimate(worst.value, worst.low, worst.high, unitFor(query, estimateName), worst.method).value, `at ${worstTime(worst.end)}`] : ["–", ""],
    };
  }

  // Takes over from a response which window and which estimate are displayed, and the common scale.
  function update(answer) {
    windowEnd = answer.at;
    isShared = answer.shares_burst;
    chosen = query.estimates.some((one) => one.name === answer.sort) ? answer.sort : answer.spark?.estimate ?? null;
    scale = answer.total > 1 ? commonScale(answer.spark?.low, answer.spark?.high) : null; // one key has nothing to compare
  }

  return {make, fill, update, textsOf};
}

function tooltip(title, {value, low, high, method}, unit) {
  const texts = estimate(value, low, high, unit, method);
  return `${title} ${texts.value}${texts.interval === "exact" ? ", exact" : `; the exact value is within ${texts.interval}${method ? ` (${method})` : ""}`}`;
}
