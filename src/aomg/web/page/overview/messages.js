// Texts around the table of keys: its summary, and messages in place of an empty table.

import {queryText} from "../lib/api.js";
import {element, mark, notice, write} from "../lib/element.js";
import {live} from "../lib/live.js";
import {duration, tick, timeWithUtc, titleOf, unitFor, whole} from "../lib/format.js";
import {commonScale} from "../lib/sparkline.js";
import {waiting} from "../lib/start.js";

// One line: number of keys, order, window, and a button that shows silent keys.
export function summarize(place, answer, query, address, changed) {
  const {matching, total, at: end, silent, bursts} = answer;
  const onlySilent = address.get("silent") === "true";
  const counted = `${matching === total ? "" : `${whole(matching)} of `}${whole(total)} ${onlySilent ? "silent " : ""}${total === 1 ? "key" : "keys"}`;
  const size = query.size_seconds ? `${duration(query.size_seconds)} ` : "";
  const parts = [counted, `${answer.order === "desc" ? "highest" : "lowest"} ${{key: "key", count: "number of events", width: "interval width", alert: "alert state"}[answer.sort] ?? titleOf(query, answer.sort)} first`];
  if (answer.sort === "key" || answer.sort === "alert") parts[1] = `sorted by ${answer.sort === "key" ? "key" : "alert state"}`;
  if (answer.rank === "span") parts[1] = `highest ${titleOf(query, answer.sort)} of the trend first`;
  if (place.children.length !== 6) {
    const button = (text, changes) => element("button", {type: "button", class: "quiet", hidden: true, onclick: () => changed(changes())}, text);
    place.replaceChildren(element("strong"), element("span"), element("span"), element("span", {class: "shared"}), button("Back to the newest window", () => ({at: null})), button("", () => ({silent: address.get("silent") === "true" ? null : "true"})));
  }
  write(place.children[0], parts[0]);
  write(place.children[1], parts[1]);
  write(place.children[2], end === null ? "no window yet" : `${onlySilent ? "not in the " : ""}${size}window that ended ${timeWithUtc(end)}`);
  mark(place.children[3], "hidden", !answer.shares_burst || onlySilent);
  write(place.children[3], `${whole(bursts)} of ${whole(total)} keys have a burst at once: they share a cause`);
  mark(place.children[4], "hidden", address.get("at") === "");
  mark(place.children[5], "hidden", silent === 0 && !onlySilent);
  mark(place.children[5], "title", onlySilent ? null : "Earlier windows have them, this window does not");
  write(place.children[5], onlySilent ? "Back to active keys" : `Show ${whole(silent)} silent ${silent === 1 ? "key" : "keys"}`);
}

// In place of the table, where no key is in it.
export function empty(answer, address, changed) {
  if (answer.total === 0 && address.get("silent") === "true") {
    return [
      element("p", null, element("strong", null, "There are no silent keys: "), "this window has every key that earlier windows have."),
      element("p", null, element("button", {type: "button", onclick: () => changed({silent: null})}, "Back to active keys")),
    ];
  }
  if (answer.total === 0) return [element("p", null, element("strong", null, "There are no results for this query yet. "), "They appear here as soon as the monitor writes them.")];
  const clear = {search: null, alert: null, burst: null};
  for (const label of Object.keys(address.labels("where."))) clear[`where.${label}`] = null;
  const exact = Object.keys(address.labels("where.")).length > 0 ? "Label filters compare whole values; the search box also finds parts of them." : "";
  return [
    element("p", null, element("strong", null, `None of the ${whole(answer.total)} keys matches. `), exact),
    element("p", null, element("button", {type: "button", onclick: () => changed(clear)}, "Show all keys")),
  ];
}

// One line below the table: what interval, width and trend are, where they stand.
export function explain(place, query, {long, estimate, low, high, own, rank}) {
  const unit = unitFor(query, estimate);
  const {log} = commonScale(low, high) ?? {log: false};
  const scale = own || low === null ? "each with its own scale" : `all from ${log ? tick(low, unit) : "0"} to ${tick(high, unit)}${log ? ", logarithmic" : ""}`;
  const trend = estimate === null || !long ? "" : ` Trend: ${titleOf(query, estimate)} over the last ${long}, ${scale}.`;
  const order = rank === "span" ? "" : " To find what was worst earlier, sort by the highest.";
  const text = `Below each value: the interval that contains the exact value, always. Its width is (high − low) / value.${trend}${order} `;
  if (place.firstChild?.data === text) return;
  place.replaceChildren(text, element("button", {type: "button", class: "link", "data-guide": true}, "What am I looking at?"));
}

// In place of the overview while there is no window: what happens, and when the first one is due.
export function nothingYet() {
  const known = live.status;
  const wait = waiting(known);
  if (wait !== null) return wait;
  if (known?.live) {
    return notice("No window yet", "The monitor runs, and results appear here by themselves. A window closes when events later than its end arrive.", element("p", null, element("a", {href: "/health"}, "Health"), " shows how many events it reads."));
  }
  return notice(
    "No results yet",
    "Results appear here by themselves as soon as the monitor writes them.",
    element("p", null, "Start the monitor with ", element("code", null, "aomg run CONFIG.yaml"), ", or try ", element("code", null, "aomg demo"), "."),
    element("p", null, "If the monitor is running, check that it writes to the folder that this page serves (", element("code", null, "sinks: results: parquet"), " in its configuration)."),
  );
}

export function unknownQuery(name, known) {
  return notice("Query not found", `There is no query ${name}.`, element("p", null, "Queries: ", known.map((one, position) => [position ? ", " : "", element("a", {href: `/${queryText({query: one.name})}`}, one.name)]), "."));
}
