// The heat map of the first keys over time: one row per key, one column per window (or several), colour by quantile. A
// single key has its chart instead.

import {keyAddress} from "../lib/address.js";
import {queryText, Superseded} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {colouring, heatFigure} from "./heat_figure.js";
import {sharedBursts} from "./shared_bursts.js";
import {draw} from "../lib/plot.js";
import {defaultEstimate, keyText, sentence, tick, timeWithUtc, titleOf, unitFor, unrounded} from "../lib/format.js";

const ROWS = 60;
const COLUMNS = 240;
const LEAST_BETWEEN = 2000;
const SPANS = [["", "all"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "24 h"]];

// queryNow() and request() return what the table shows. Returns {panel, single, start(), refresh(anew), close()}: two
// panels, of which one is visible.
export function heatMap(address, ask, queryNow, request) {
  const query = queryNow();
  const heading = element("h2", null, "");
  const span = element("select", {"aria-label": "Time range of the heat map", onchange: () => {
    address.change({span: span.value});
    refresh(true);
  }}, SPANS.map(([value, text]) => element("option", {value}, text)));
  const plot = element("div", {class: "plot", tabindex: "0", role: "group", "aria-roledescription": "heat map"});
  const legend = element("div", {class: "legend", "aria-hidden": "true"});
  const readout = element("p", {class: "caption", "aria-live": "polite"}, "");
  const csv = element("a", {class: "button", download: true, title: "Download the heat map as CSV"}, "CSV");
  const panel = element("section", {class: "panel heat", "aria-label": "Heat map"}, element("div", {class: "head"}, heading, element("label", {class: "end small soft"}, "Time range ", span), csv), legend, plot, readout);

  const single = element("section", {class: "panel single", "aria-label": "The only key", hidden: true});
  let chart = null; // loaded when there is a single key
  let data = null;
  let drawn = null;
  let started = false;
  let closed = false;
  let last = 0;
  let timer = 0;
  let chosen = null; // by keyboard: {key, end}
  let pointed = null; // by pointer: the same
  let cell = null; // where the chosen cell is in the data: [row, column]
  let running = false;
  let again = false;

  const estimate = () => {
    const now = request();
    return query.estimates.some((one) => one.name === now.sort) ? now.sort : defaultEstimate(query);
  };

  function figure() {
    const colours = colouring(data.values);
    legend.replaceChildren(...colours.ticks.map((value) => element("span", {style: {left: `${100 * colours.share(value)}%`}}, tick(value, estimateUnit()))));
    return heatFigure(data, colours, plot.clientWidth, plot.clientHeight, cell);
  }

  const estimateUnit = () => unitFor(query, data.quantile);

  async function refresh(anew = false) {
    if (!started || closed) return;
    clearTimeout(timer);
    const wait = last + LEAST_BETWEEN - performance.now();
    if (!anew && wait > 0) {
      timer = setTimeout(refresh, wait);
      return;
    }
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      last = performance.now();
      const {at: time, ...rest} = request();
      const seconds = Number(address.get("span"));
      span.value = SPANS.some(([value]) => value === address.get("span")) ? address.get("span") : "";
      const newest = time || queryNow().newest_end;
      const from = seconds > 0 && newest ? new Date(new Date(newest).getTime() - seconds * 1000).toISOString() : "";
      const wanted = {...rest, quantile: estimate(), rows: ROWS, columns: COLUMNS, from, to: time};
      csv.href = "/api/heatmap.csv" + queryText(wanted);
      const answer = await ask("/api/heatmap", wanted, "heat");
      if (closed) return;
      data = answer;
      await show();
    } catch (error) {
      if (error instanceof Superseded || closed) return;
      write(readout, `${sentence(error.message)} ${sentence(error.whatToDo)}`);
    } finally {
      running = false;
      if (again) {
        again = false;
        refresh(true);
      }
    }
  }

  async function show() {
    const title = titleOf(query, data.quantile);
    write(heading, `${title} over time`);
    const isOne = data.matching === 1 && data.keys.length === 1 && data.ends.length > 1;
    mark(panel, "hidden", data.keys.length === 0 || data.ends.length === 0 || isOne);
    if (panel.parentElement) mark(panel.parentElement, "data-one", isOne);
    mark(single, "hidden", !isOne);
    if (isOne) {
      chart ??= (await import("./one_key.js")).oneKey(single, ask, queryNow);
      if (!closed) await chart.show(data);
    }
    if (panel.hidden) return;
    choose(chosen);
    say();
    mark(plot, "aria-label", `${title} of ${keysShown()}, ${data.ends.length} columns of time. Arrow keys move between cells, Enter opens the key at that time.`);
    plot.style.height = `${heightOf(data.keys.length)}px`;
    if (drawn === null) {
      drawn = await draw(plot, figure);
      if (closed) {
        drawn.close();
        return;
      }
      plot.on("plotly_click", (event) => {
        const target = place(event);
        if (target) openCell(target);
      });
      plot.on("plotly_hover", (event) => {
        const target = place(event);
        if (!target) return;
        pointed = named(target);
        say();
      });
      plot.on("plotly_unhover", () => {
        pointed = null;
        say();
      });
    } else await drawn.update();
    mark(panel, "data-drawn", "true");
  }

  const keysShown = () => (data.matching > data.keys.length ? `the first ${data.keys.length} of ${data.matching.toLocaleString("en")} keys` : data.keys.length === 1 ? "the only key" : `all ${data.keys.length} keys`);

  function defaultText() {
    const bursts = data.bursts.length === 0 ? "" : " ◆ = burst.";
    return `${sentence(`${keysShown()}, in the order of the table`)}${data.windows_per_column > 1 ? ` Each column shows the highest of ${data.windows_per_column} windows.` : ""}${bursts}${sharedBursts(data)}`;
  }

  // A cell is identified by its key and time: rows and columns move as windows arrive.
  const named = ([row, column]) => ({key: JSON.stringify(data.keys[row]), end: data.ends[column]});

  function choose(one) {
    cell = one && whereIs(one, data);
    chosen = cell && one;
  }

  function say() {
    const target = (pointed && whereIs(pointed, data)) ?? cell;
    write(readout, target ? describe(target) : defaultText());
  }

  // As high as the table beside it, or else by the number of rows.
  function heightOf(rows) {
    const beside = panel.parentElement && panel.parentElement.firstElementChild.offsetTop === panel.offsetTop;
    if (!beside) return Math.min(Math.max(rows * 14 + 110, 240), 640);
    const whole = panel.parentElement.firstElementChild.offsetHeight;
    return Math.max(whole - (panel.offsetHeight - plot.offsetHeight), 300);
  }

  function place(event) {
    const point = event.points?.[0];
    if (!point || point.x === undefined) return null;
    const column = data.ends.findIndex((end) => new Date(end).getTime() === point.x);
    return column < 0 ? null : [point.y, column];
  }

  function describe([row, column]) {
    const value = data.values[row]?.[column] ?? null;
    const burst = data.bursts.some(([y, x]) => y === row && x === column) ? data.shared_bursts.includes(column) ? ", burst that at least half of the keys share" : ", burst" : "";
    return `${keyText(data.keys[row], true)}, ${timeWithUtc(data.ends[column])}: ${value === null ? "no data" : `${titleOf(query, data.quantile)} ${unrounded(value, estimateUnit())}`}${burst}`;
  }

  const openCell = ([row, column]) => address.open(keyAddress(query.name, data.keys[row], data.ends[column]));

  plot.addEventListener("keydown", (event) => {
    if (data === null || drawn === null) return;
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === "Enter" && cell) openCell(cell);
    else if (event.key === "Escape" && cell) choose(null);
    else if (step) {
      const [row, column] = cell ?? [-step[0], data.ends.length - 1 - step[1]];
      choose(named([Math.min(Math.max(row + step[0], 0), data.keys.length - 1), Math.min(Math.max(column + step[1], 0), data.ends.length - 1)]));
    } else return;
    pointed = null;
    say();
    event.preventDefault();
    drawn.update();
  });

  return {
    panel,
    single,
    // After the table is painted: the plotting library is large.
    start() {
      if (closed || started) return;
      started = true;
      const soon = window.requestIdleCallback ?? ((call) => setTimeout(call, 50));
      soon(() => refresh(true), {timeout: 500});
    },
    refresh,
    close() {
      closed = true;
      clearTimeout(timer);
      drawn?.close();
      chart?.close();
    },
  };
}

// The [row, column] of a key and a time, or null if they are gone. A column of several windows has those up to its end.
export function whereIs({key, end}, {keys, ends, windows_per_column: many}) {
  const row = keys.findIndex((one) => JSON.stringify(one) === key);
  const wanted = Date.parse(end);
  const times = ends.map((one) => Date.parse(one));
  const column = times.findIndex((time) => time >= wanted);
  const isThere = times[column] === wanted || (many > 1 && (column > 0 || times[0] - wanted < times[1] - times[0]));
  return row < 0 || column < 0 || !isThere ? null : [row, column];
}
