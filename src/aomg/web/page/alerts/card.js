// An alert as a card with all its details, or as one line.

import {keyAddress} from "../lib/address.js";
import {element} from "../lib/element.js";
import {live} from "../lib/live.js";
import {duration, estimate, fromNow, isNear, stateMark, when, whole} from "../lib/format.js";

const CERTAINTY = {
  certain: "Certain: the condition held for the whole interval.", possible: "Possible: the condition held for a part of the interval.",
  no: "The condition no longer holds.", "no data": "There was no data to evaluate the condition.",
};
// Annotations that are shown first.
const FIRST = ["summary", "title", "description"];

export function linkOf(alert) {
  return alert.link ? keyAddress(alert.link.query, alert.link.key, alert.link.at) : null;
}

// When its current state began.
export function since(alert) {
  return alert.state === "resolved" || alert.state === "inactive" ? alert.resolved : alert.state === "firing" ? alert.fired ?? alert.started : alert.started;
}

// One duration and one time: "fired for 4 min, until 00:09:00 UTC". How long ago is said only if event times are those of
// the clock.
function sinceText(alert) {
  const start = since(alert);
  const {seconds} = alert;
  const long = seconds === null || seconds === undefined ? "" : ` for ${duration(seconds)}`;
  if (alert.state === "firing" || alert.state === "pending") return start ? [`${alert.state}${long}, since `, when(start, true)] : [alert.state + long];
  const word = alert.state === "resolved" ? `fired${long}` : `its condition held${long}, and it never fired`;
  if (!alert.resolved) return [word, "; the time of its end is unknown"];
  const now = live.status?.now;
  const ago = now && isNear(alert.resolved, now) ? ` (${fromNow(alert.resolved, now)})` : "";
  return [`${word}, until `, when(alert.resolved, true), ago];
}

// One line for the view of a key: state, rule, reason, time.
export function alertLine(alert) {
  const address = linkOf(alert);
  return element("div", {class: "alert-line", "data-state": alert.state}, stateMark(alert.state), element("strong", null, alert.rule),
    element("span", null, alert.reason), element("span", {class: "soft small"}, sinceText(alert), address && alert.state !== "firing" && alert.state !== "pending" ? [" · ", element("a", {href: address, "aria-label": `Show ${alert.rule} at that time`}, "show")] : null));
}

export function alertCard(alert) {
  const address = linkOf(alert);
  const [first, ...others] = ordered(alert.annotations);
  const labels = Object.entries(alert.labels ?? {});
  return element("article", {class: "panel alert", "data-state": alert.state, "aria-label": `${alert.rule}, ${alert.state}`},
    element("header", null, stateMark(alert.state), element("h2", null, alert.rule), element("span", {class: "soft small"}, alert.group)),
    first ? element("p", {class: "summary"}, first[1]) : null,
    labels.length ? element("ul", {class: "labels", "aria-label": "Labels"}, labels.map(([name, value]) => element("li", null, element("span", {class: "soft"}, name), " ", value ?? "–"))) : null,
    element("p", {class: "small"}, capital(sinceText(alert)), "."),
    alert.condition ? element("p", {class: "small"}, "Condition: ", element("code", null, alert.condition)) : null,
    quantities(alert) ?? (alert.reason ? element("p", {class: "reason"}, alert.reason) : null),
    element("p", {class: "small soft"}, CERTAINTY[alert.certainty] ?? alert.certainty ?? "", alert.count === null || alert.count === undefined ? null : ` ${whole(alert.count)} events in the window.`),
    others.length ? element("dl", {class: "annotations small"}, others.map(([name, text]) => [element("dt", null, name), element("dd", null, text)])) : null,
    fleet(alert.fleet),
    address ? element("p", null, element("a", {href: address}, alert.state === "firing" || alert.state === "pending" ? "Show the key" : "Show the key at that time")) : null,
  );
}

function ordered(annotations) {
  const order = (name) => (FIRST.indexOf(name) + 1 || 99);
  const pairs = Object.entries(annotations ?? {}).sort(([one], [other]) => order(one) - order(other));
  return pairs.length && order(pairs[0][0]) === 99 ? [undefined, ...pairs] : pairs;
}

// Each quantity of the condition with its interval; of an alert that ended also at its end.
function quantities(alert) {
  const pairs = Object.entries(alert.quantities ?? {});
  if (pairs.length === 0) return null;
  const atEnd = alert.quantities_at_end ?? {};
  const hasEnd = Object.keys(atEnd).length > 0;
  const cell = (name, bounds) => (bounds ? element("td", null, quantityText(alert, name, bounds)) : element("td", {class: "soft"}, "–"));
  const first = alert.fired ? "when it fired" : "when it began";
  return element("table", {class: "quantities"},
    element("thead", null, element("tr", null, element("th", {scope: "col"}, element("span", {class: "unseen"}, "Quantity")), element("th", {scope: "col"}, first), hasEnd ? element("th", {scope: "col"}, "at its end") : null)),
    element("tbody", null, pairs.map(([name, bounds]) => element("tr", null, element("th", {scope: "row"}, name), cell(name, bounds), hasEnd ? cell(name, atEnd[name]) : null))));
}

function quantityText(alert, name, [low, value, high]) {
  const unit = alert.units?.[name] === "%" ? "share" : alert.units?.[name] ?? null;
  const texts = estimate(value, low, high, unit);
  return [element("b", null, texts.value), " ", texts.bounds ? element("span", {class: "soft"}, texts.bounds === "exact" ? "exact" : `(${texts.bounds})`) : null];
}

function capital([first, ...rest]) {
  return [first.charAt(0).toUpperCase() + first.slice(1), ...rest];
}

function fleet(report) {
  if (!report) return null;
  const named = report.members ?? [];
  const more = report.violating - named.length;
  return element("div", {class: "fleet small"},
    element("p", null, `${whole(report.violating)} of ${whole(report.total)} members violate the condition`, report.silent ? `; ${whole(report.silent)} ${report.silent === 1 ? "is" : "are"} silent` : null, report.suspect ? `. Suspect: ${report.suspect}` : null, "."),
    named.length ? element("ul", {class: "labels", "aria-label": "Members that violate the condition"}, named.map((name) => element("li", null, name)), more > 0 ? element("li", {class: "soft"}, `and ${whole(more)} more`) : null) : null);
}
