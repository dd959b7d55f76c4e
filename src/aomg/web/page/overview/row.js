// One row of the table of keys: created once, then only changed cells are written.

import {element, mark, write} from "../lib/element.js";
import {drawSpark, sparkline} from "../lib/sparkline.js";
import {brief, duration, estimate, keyText, quantity, timeWithUtc, unitFor, whole, width} from "../lib/format.js";

// Longer values get a smaller font: exact numbers have up to seven digits.
const LONG = 8;

// addressOf(row): the address of its link; silentNow(): whether the rows are of silent keys.
export function keyRow(query, addressOf, silentNow) {
  const units = query.estimates.map((one) => unitFor(query, one.name));
  let chosen = null;
  let windowEnd = null; // the end of the displayed window; rows of silent keys are older

  function make() {
    const link = element("a", {tabindex: "-1"}, "");
    const spark = sparkline();
    const estimates = query.estimates.map((one, position) =>
      element("div", {class: "cell number estimate", role: "cell", "data-title": one.title, "data-extra": position >= 4}, element("b", null, ""), element("i", null, "")));
    const wide = element("div", {class: "cell number small width", role: "cell"}, "");
    const events = element("div", {class: "cell number small events", role: "cell"}, "");
    const alert = element("span", {class: "mark", hidden: true}, "");
    const burst = element("span", {class: "mark", "data-state": "burst", hidden: true, title: "Burst: the newest part of the window has a larger tail than the part before"}, "burst");
    const silent = element("span", {class: "mark", "data-state": "silent", hidden: true}, "");
    const row = element("div", {class: "line row", role: "row"},
      element("div", {class: "cell key", role: "cell"}, link), element("div", {class: "cell trend", role: "cell"}, spark.svg), estimates, wide, events,
      element("div", {class: "cell states", role: "cell"}, alert, burst, silent));
    row.cells = {link, spark, estimates, wide, events, alert, burst, silent};
    row.content = undefined;
    return row;
  }

  function fill(row, data) {
    const cells = row.cells;
    if (row.chosen !== chosen) {
      row.chosen = chosen;
      query.estimates.forEach((one, position) => cells.estimates[position].classList.toggle("chosen", one.name === chosen));
    }
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
    const name = keyText(data.key);
    write(cells.link, name);
    mark(cells.link, "href", addressOf(data));
    mark(cells.link, "title", keyText(data.key, true));
    mark(cells.link, "aria-label", keyText(data.key, true));
    drawSpark(cells.spark, data.spark, 100);
    query.estimates.forEach((one, position) => {
      const estimateData = data.estimates[one.name];
      const [value, between] = cells.estimates[position].children;
      const texts = estimate(estimateData?.value, estimateData?.low, estimateData?.high, units[position], estimateData?.method);
      write(value, texts.value);
      mark(cells.estimates[position], "data-long", texts.value.length > LONG);
      write(between, texts.interval);
      mark(cells.estimates[position], "title", estimateData ? tooltip(one, estimateData, query.unit) : null);
    });
    write(cells.wide, width(data.width));
    write(cells.events, brief(data.count));
    mark(cells.events, "title", `${whole(data.count)} events in ${data.sub_windows} ${data.sub_windows === 1 ? "sub-window" : "sub-windows"}; lowest value ${quantity(data.min, query.unit)}, highest ${quantity(data.max, query.unit)}`);
    mark(cells.burst, "hidden", !data.burst);
    const silent = silentNow() && windowEnd !== null;
    mark(cells.silent, "hidden", !silent);
    if (silent) {
      mark(cells.silent, "title", `This row shows its newest window, which ended ${timeWithUtc(data.end)}`);
      write(cells.silent, `silent ${duration((Date.parse(windowEnd) - Date.parse(data.end)) / 1000)}`);
    }
    mark(cells.alert, "hidden", !data.alert);
    if (data.alert) {
      mark(cells.alert, "data-state", data.alert.state);
      mark(cells.alert, "title", data.alert.rule + (data.alert.more > 0 ? ` and ${data.alert.more} more` : ""));
      write(cells.alert, data.alert.more > 0 ? `${data.alert.state} +${data.alert.more}` : data.alert.state);
    }
  }

  // Takes over from a response which window and which estimate are displayed.
  function update(answer) {
    windowEnd = answer.at;
    chosen = query.estimates.some((one) => one.name === answer.sort) ? answer.sort : answer.spark?.estimate ?? null;
  }

  return {make, fill, update};
}

function tooltip(one, estimateData, unit) {
  const own = one.quantile === null ? "" : unit ? ` ${unit}` : "";
  return `${one.title} ${estimateData.value}${own}, exact value within ${estimateData.low}..${estimateData.high}${own}${estimateData.method ? ` (${estimateData.method})` : ""}`;
}
