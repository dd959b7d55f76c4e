// What the overview says around its table: how much is shown of what, and what to do where nothing is.

import {queryText} from "../lib/api.js";
import {element, mark, notice, write} from "../lib/element.js";
import {live} from "../lib/live.js";
import {duration, timeWithUtc, titleOf, whole} from "../lib/format.js";

// One line: how many keys, in which order, of which window; how many are silent, and the way to them and back.
export function summarize(place, answer, query, address, changed) {
  const {matching, total, at, silent} = answer;
  const onlySilent = address.get("silent") === "true";
  const counted = `${matching === total ? "" : `${whole(matching)} of `}${whole(total)} ${onlySilent ? "silent " : ""}${total === 1 ? "key" : "keys"}`;
  const size = query.size_seconds ? `, ${duration(query.size_seconds)} long` : "";
  const parts = [counted, `${answer.order === "desc" ? "highest" : "lowest"} ${{key: "key", count: "number of events", width: "interval width", alert: "alert state"}[answer.sort] ?? titleOf(query, answer.sort)} first`];
  if (answer.sort === "key" || answer.sort === "alert") parts[1] = `sorted by ${answer.sort === "key" ? "key" : "state"}`;
  if (place.children.length !== 5) {
    const button = (text, changes) => element("button", {type: "button", class: "quiet", hidden: true, onclick: () => changed(changes())}, text);
    place.replaceChildren(element("strong"), element("span"), element("span"), button("Back to the newest window", () => ({at: null})), button("", () => ({silent: address.get("silent") === "true" ? null : "true"})));
  }
  write(place.children[0], parts[0]);
  write(place.children[1], parts[1]);
  write(place.children[2], at === null ? "no window yet" : `${onlySilent ? "not in the " : ""}window ending ${timeWithUtc(at)}${size}`);
  mark(place.children[3], "hidden", address.get("at") === "");
  mark(place.children[4], "hidden", silent === 0 && !onlySilent);
  mark(place.children[4], "title", onlySilent ? null : "Keys that earlier windows have and this one lacks");
  write(place.children[4], onlySilent ? "Back to the keys of the window" : silent === 1 ? "1 key is silent" : `${whole(silent)} keys are silent`);
}

// In place of the table, where no key is in it.
export function empty(answer, address, changed) {
  if (answer.total === 0 && address.get("silent") === "true") {
    return [
      element("p", null, element("strong", null, "No key is silent: "), "the window has every key that earlier ones have."),
      element("p", null, element("button", {type: "button", onclick: () => changed({silent: null})}, "Show its keys")),
    ];
  }
  if (answer.total === 0) return [element("p", null, element("strong", null, "No key has a window here yet. "), "As soon as the monitor writes one, it appears by itself.")];
  const clear = {search: null, alert: null, burst: null};
  for (const label of Object.keys(address.labels("where."))) clear[`where.${label}`] = null;
  const exact = Object.keys(address.labels("where.")).length > 0 ? " Filters of labels compare whole values; the search box finds parts of them." : "";
  return [
    element("p", null, element("strong", null, `None of ${whole(answer.total)} keys matches. `), exact),
    element("p", null, element("button", {type: "button", onclick: () => changed(clear)}, "Show all keys")),
  ];
}

export function nothingYet() {
  const known = live.status;
  const loading = known?.loading && known.loading.done < known.loading.of;
  if (loading) return notice("Reading stored results", "The newest windows appear in a moment.");
  return notice(
    "No results yet",
    "This page shows what the monitor writes, as soon as it does: nothing needs to be loaded again.",
    element("p", null, "Start the monitor with ", element("code", null, "aomg run CONFIG.yaml"), ", or see it at work with ", element("code", null, "aomg demo"), "."),
    element("p", null, "If it runs already, look whether the folder that it writes to (", element("code", null, "sinks: results: parquet"), ") is the one that is served here."),
  );
}

export function unknownQuery(name, known) {
  return notice("There is no such query", `Nothing is called ${name} here.`, element("p", null, "There is ", known.map((one, position) => [position ? ", " : "", element("a", {href: `/${queryText({query: one.name})}`}, one.name)]), "."));
}
