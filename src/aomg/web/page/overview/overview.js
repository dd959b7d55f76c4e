// The overview: every key as a row, highest quantile first; below or beside it the heat map.

import {keyAddress} from "../lib/address.js";
import {asker, queryText, Superseded} from "../lib/api.js";
import {element, mark} from "../lib/element.js";
import {heatMap} from "./heat_map.js";
import {filters} from "./filters.js";
import {keyRow} from "./row.js";
import {live} from "../lib/live.js";
import {empty, nothingYet, summarize, unknownQuery} from "./messages.js";
import {LongList} from "../lib/long_list.js";
import {defaultEstimate, sentence} from "../lib/format.js";

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
    if (query === undefined) {
      place.replaceChildren(known.length === 0 ? nothingYet() : unknownQuery(address.get("query"), known));
      return null;
    }
    if (known.every((one) => one.windows === 0)) {
      place.replaceChildren(nothingYet());
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
    alert: address.get("alert"), burst: address.get("burst"), silent: address.get("silent"), at: address.get("at"),
  };
  for (const [label, value] of Object.entries(address.labels("where."))) request[`where.${label}`] = value;
  return request;
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
  const keys = element("section", {class: "panel keys", "aria-label": "Keys"}, scroll, none);
  const heat = heatMap(address, ask, () => query, request);
  const both = element("div", {class: "both"}, keys, heat.panel);
  const view = element("div", {class: "overview"}, element("h1", {class: "unseen"}, "Overview"), controls.bar, summary, both);

  const columns = headings(head, query, (sort) => {
    const now = request();
    const order = now.sort === sort ? (now.order === "desc" ? "asc" : "desc") : sort === "key" ? "asc" : "desc";
    changed({sort: sort === defaultSort(query) ? null : sort, order: order === (sort === "key" ? "asc" : "desc") ? null : order});
  });
  layOut(keys, both, query);
  const silent = () => address.get("silent") === "true";
  const lines = keyRow(query, (row) => keyAddress(query.name, row.key, silent() ? row.end : address.get("at") || null), silent);
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
    for (const [name, cell] of columns) {
      mark(cell, "aria-sort", name === answer.sort ? (answer.order === "asc" ? "ascending" : "descending") : null);
    }
    summarize(summary, answer, query, address, changed);
    controls.csv(`/api/keys.csv${queryText(request())}`);
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
      rows.close();
      heat.close();
    },
  };
}

function headings(head, query, sorted) {
  const columns = new Map();
  const add = (name, text, about, kind = "") => {
    const cell = element("div", {class: `cell ${kind}`, role: "columnheader"}, name === null ? element("span", {title: about}, text) : element("button", {type: "button", title: about, onclick: () => sorted(name)}, text));
    head.append(cell);
    if (name !== null) columns.set(name, cell);
  };
  add("key", query.labels.join(" · ") || "key", "Sort by key");
  add(null, "trend", "The sorted quantile over the last windows; every key has its own scale");
  for (const one of query.estimates) add(one.name, one.title, `Sort by ${one.title}. Below each value: the interval that contains the exact value`, "number estimate");
  add("width", "width", "Sort by the width of the interval, relative to the value", "number small width");
  add("count", "events", "Sort by the number of events in the window", "number small events");
  add("alert", "state", "Sort by alert state", "states");
  return columns;
}

function layOut(keys, both, query) {
  const many = query.estimates.length;
  // keys with several labels need more space, and may take two lines
  const more = Math.min(query.labels.length - 1, 3);
  const least = more > 0 ? 7 + 3 * more : 5.5;
  const columns = [`minmax(${least}rem, ${1.3 + more}fr)`, "6.25rem", ...query.estimates.map(() => "minmax(5.4rem, 1fr)"), "4rem", "4.4rem", "minmax(7rem, 0.9fr)"];
  keys.style.setProperty("--columns", columns.join(" "));
  keys.style.setProperty("--least", `${least + 6.25 + many * 5.4 + 4 + 4.4 + 7 + (many + 4) * 0.75 + 2}rem`);
  keys.style.setProperty("--span", String(Math.floor(12 / Math.min(Math.max(many, 1), 4))));
  mark(keys, "data-many", more > 0);
  mark(both, "data-beside", many <= 4 && query.labels.length <= 2);
}
