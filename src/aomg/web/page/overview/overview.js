// The overview: every key as a row, highest quantile first; below or beside it the heat map.

import {keyAddress} from "../lib/address.js";
import {asker, queryText, Superseded} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {columnWidths} from "./columns.js";
import {heatMap} from "./heat_map.js";
import {filters} from "./filters.js";
import {keyRow} from "./row.js";
import {live} from "../lib/live.js";
import {empty, explain, nothingYet, summarize, unknownQuery} from "./messages.js";
import {LongList} from "../lib/long_list.js";
import {aboutDuration, defaultEstimate, sentence, titleOf} from "../lib/format.js";

export const title = "Overview";
const SPARK = 60;

export async function open(place, address) {
  const ask = asker();
  let parts = null;
  const start = async () => {
    const known = live.status?.queries ?? [];
    const query = known.find((one) => one.name === address.get("query")) ?? (address.get("query") === "" ? known[0] : undefined);
    if (parts !== null && query !== undefined && parts.matches(query)) return parts.moved(query);
    parts?.close();
    parts = null;
    const none = known.length === 0 || known.every((one) => one.windows === 0);
    if (none || query === undefined) {
      const instead = none ? nothingYet() : unknownQuery(address.get("query"), known);
      // the same message stays: its focus and selection, too
      if (place.firstElementChild?.outerHTML !== instead.outerHTML) place.replaceChildren(instead);
      return null;
    }
    parts = table(place, address, ask, query);
    return parts.first;
  };
  await start();
  return {
    async refresh() {
      const known = live.status?.queries ?? [];
      // a new query or another label needs other columns
      if (parts === null || !known.some((one) => parts.matches(one))) return start();
      return parts.refresh(known.find((one) => parts.matches(one)));
    },
    moved: start,
    close() {
      parts?.close();
      ask.end();
    },
  };
}

// The parameters of the API that correspond to the address.
export function requestOf(address, query) {
  const sort = address.get("sort") || defaultSort(query);
  const request = {
    query: query.name, sort, order: address.get("order") || (sort === "key" ? "asc" : "desc"), search: address.get("search"),
    rank: rankOf(address, sort, query), alert: address.get("alert"), burst: address.get("burst"), silent: address.get("silent"), at: address.get("at"),
  };
  for (const [label, value] of Object.entries(address.labels("where."))) request[`where.${label}`] = value;
  return request;
}

// "span": keys are sorted by the highest value in the trend; null: by the window.
function rankOf(address, sort, query) {
  return address.get("rank") === "span" && query.estimates.some((one) => one.name === sort) ? "span" : null;
}

export function defaultSort(query) {
  return defaultEstimate(query) ?? "count";
}

function table(place, address, ask, initialQuery) {
  let query = initialQuery;
  let closed = false;
  const names = query.estimates.map((one) => one.name);
  const shape = JSON.stringify([query.name, query.labels, query.estimates, query.unit, live.status.queries.map((one) => one.name)]);
  const shapeOf = (other) => JSON.stringify([other.name, other.labels, other.estimates, other.unit, live.status.queries.map((one) => one.name)]);
  const request = () => requestOf(address, query);

  const controls = filters(address, query, changed);
  const summary = element("p", {class: "summary"});
  const head = element("div", {class: "line names", role: "row", "aria-rowindex": "1"});
  const visible = element("div", {class: "in-view", role: "rowgroup"});
  const all = element("div", {class: "all", role: "presentation"}, visible);
  const scroll = element("div", {class: "scroll", role: "table", tabindex: "-1", "aria-label": `Keys of ${query.name}`}, element("div", {class: "top", role: "rowgroup"}, head), all);
  const none = element("div", {class: "none", hidden: true});
  const legend = element("p", {class: "caption small soft"});
  const keys = element("section", {class: "panel keys", "aria-label": "Keys"}, scroll, none, legend);
  const heat = heatMap(address, ask, () => query, request);
  const both = element("div", {class: "both"}, keys, heat.panel, heat.single);
  const view = element("div", {class: "overview"}, element("h1", {class: "unseen"}, "Overview"), controls.bar, summary, both);

  const columns = headings(head, query, (sort, rank = null) => {
    const now = request();
    if (rank === "span") sort = query.estimates.some((one) => one.name === now.sort) ? now.sort : defaultSort(query);
    const first = sort === "key" ? "asc" : "desc";
    const order = now.sort === sort && now.rank === rank ? (now.order === "desc" ? "asc" : "desc") : first;
    changed({sort: sort === defaultSort(query) ? null : sort, rank, order: order === first ? null : order});
  });
  const widths = columnWidths(keys, both, query);
  const silent = () => address.get("silent") === "true";
  const ownScale = () => address.get("trend") === "own";
  const lines = keyRow(query, (row) => keyAddress(query.name, row.key, silent() ? row.end : address.get("at") || null), silent, ownScale);
  const rows = new LongList({
    scroll, all, visible, make: lines.make, fill: lines.fill,
    identity: (row) => JSON.stringify(Object.values(row.key)),
    async fetch(offset) {
      try {
        return await ask("/api/keys", {...request(), offset, limit: 100, spark: SPARK}, `rows ${offset}`);
      } catch (error) {
        if (error instanceof Superseded) return null;
        throw error;
      }
    },
    changed: show,
    failed(error) {
      none.replaceChildren(element("p", null, element("strong", null, sentence(error.message)), " ", sentence(error.whatToDo)), element("p", null, element("button", {type: "button", onclick: () => reload()}, "Try again")));
      // the old rows stay while the server does not respond: the banner says so
      if (error.status !== undefined || rows.matching === 0) {
        mark(none, "hidden", false);
        mark(scroll, "hidden", true);
      }
    },
  });
  scroll.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row || event.target.closest("a") || !getSelection().isCollapsed || event.ctrlKey || event.metaKey) return;
    const link = row.querySelector("a[href]");
    if (link) address.open(link.pathname + link.search);
  });

  function show(answer) {
    controls.suggest(answer);
    mark(scroll, "aria-rowcount", answer.matching + 1);
    mark(scroll, "hidden", answer.matching === 0);
    mark(none, "hidden", answer.matching > 0);
    if (answer.matching === 0) none.replaceChildren(...empty(answer, address, changed));
    lines.update(answer);
    widths.fit(answer.rows.map((row) => lines.textsOf(row)));
    const sorted = answer.rank === "span" ? "worst" : answer.sort;
    for (const [name, {button}] of columns) mark(button, "data-sorted", name === sorted ? answer.order : null);
    // one cell may have several buttons
    for (const {cell} of columns.values()) mark(cell, "aria-sort", cell === columns.get(sorted)?.cell ? (answer.order === "asc" ? "ascending" : "descending") : null);
    mark(keys, "data-rank", answer.rank);
    showSpan(answer);
    summarize(summary, answer, query, address, changed);
    controls.csv(`/api/keys.csv${queryText(request())}`);
  }

  // What the columns of the trend show: its length, and whose scale.
  function showSpan(answer) {
    const {windows, estimate, low, high} = answer.spark;
    const period = query.period_seconds;
    const long = windows > 1 && period ? aboutDuration(windows * period) : "";
    const {button} = columns.get("worst");
    write(button, long ? `highest in ${long}` : "highest");
    mark(button, "title", `Sort by the highest ${titleOf(query, estimate) ?? "value"} in the trend, instead of the newest one`);
    explain(legend, query, {long, estimate, low, high, own: ownScale() || answer.total < 2, rank: answer.rank});
    controls.span(long);
  }

  async function reload(top = 0) {
    controls.show(query);
    const done = await rows.reset(top);
    if (done) heat.refresh(true);
    return done;
  }

  // A control changed: record it in the address, then reload. Typing replaces the address instead of adding history.
  function changed(changes, push = true) {
    address.change(changes, push);
    return reload();
  }

  const keep = () => {
    if (!closed) history.replaceState({...history.state, top: scroll.scrollTop}, "");
  };
  scroll.addEventListener("scrollend", keep);
  place.replaceChildren(view);
  rows.measure();
  const first = reload(history.state?.top ?? 0).then(() => heat.start());
  return {
    first,
    matches: (other) => shapeOf(other) === shape,
    moved(newer) {
      query = newer;
      return reload(history.state?.top ?? 0);
    },
    async refresh(newer) {
      query = newer;
      const done = await rows.refresh();
      if (done) heat.refresh();
    },
    close() {
      closed = true;
      widths.close();
      rows.close();
      heat.close();
    },
  };
}

function headings(head, query, sorted) {
  const columns = new Map();
  const button = (text, about, act) => element("button", {type: "button", title: about, onclick: act}, text);
  const add = (kind, ...named) => {
    const cell = element("div", {class: `cell ${kind}`, role: "columnheader"}, named.map(([, node]) => node));
    head.append(cell);
    for (const [name, node] of named) if (name !== null) columns.set(name, {cell, button: node});
  };
  add("key", ["key", button(query.labels.join(" · ") || "key", "Sort by key", () => sorted("key"))], ["alert", button("state", "Sort by alert state", () => sorted("alert"))]);
  add("trend", [null, element("span", {title: "The sorted quantile over the last windows"}, "trend")]);
  add("number worst", ["worst", button("highest", "", () => sorted(null, "span"))]);
  for (const one of query.estimates) add("number estimate", [one.name, button(one.title, `Sort by ${one.title}. Below each value: the interval that contains the exact value`, () => sorted(one.name))]);
  add("number small width", ["width", button("interval width", "Sort by the width of the interval: (high − low) / value", () => sorted("width"))]);
  add("number small events", ["count", button("events", "Sort by the number of events in the window", () => sorted("count"))]);
  return columns;
}
