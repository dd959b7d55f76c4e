// An alert as a card with all its details, or as one line.

import {keyAddress} from "../lib/address.js";
import {element} from "../lib/element.js";
import {live} from "../lib/live.js";
import {duration, estimate, stateMark, when, whole} from "../lib/format.js";

const CERTAINTY = {
  certain: "Certain: the condition holds for the whole interval.", possible: "Possible: the condition holds for a part of the interval.",
  no: "The condition no longer holds.", "no data": "There is no data to evaluate the condition.",
};
// Annotations that are shown first.
const FIRST = ["summary", "title", "description"];

export function linkOf(alert) {
  return alert.link ? keyAddress(alert.link.query, alert.link.key, alert.link.at) : null;
}

// When its current state began.
export function since(alert) {
  return alert.state === "resolved" ? alert.resolved : alert.state === "firing" ? alert.fired ?? alert.started : alert.started;
}

// Age in seconds, relative to the newest window: stored results of last year are not a year old.
function age(text) {
  const ends = (live.status?.queries ?? []).map((query) => Date.parse(query.newest_end)).filter((end) => !Number.isNaN(end));
  const seconds = (Math.max(...ends) - Date.parse(text)) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.round(seconds) : null;
}

function sinceText(alert) {
  const start = since(alert);
  const old = age(start);
  const word = {firing: "firing", pending: "pending", resolved: "resolved"}[alert.state];
  const lasted = alert.state === "resolved" && alert.fired && alert.resolved ? `, after firing for ${duration((Date.parse(alert.resolved) - Date.parse(alert.fired)) / 1000)}` : "";
  if (!start) return [word];
  const relative = old === null ? "" : alert.state === "resolved" ? `${duration(old)} ago, ` : `for ${duration(old)}, `;
  return [`${word} ${relative}${alert.state === "resolved" ? "at" : "since"} `, when(start, true), lasted];
}

// One line for the view of a key: state, rule, reason, time.
export function alertLine(alert) {
  const address = linkOf(alert);
  return element("div", {class: "alert-line", "data-state": alert.state}, stateMark(alert.state), element("strong", null, alert.rule),
    element("span", null, alert.reason), element("span", {class: "soft small"}, sinceText(alert), address && alert.state === "resolved" ? [" · ", element("a", {href: address, "aria-label": `Show ${alert.rule} at that time`}, "show")] : null));
}

export function alertCard(alert) {
  const address = linkOf(alert);
  const [first, ...others] = ordered(alert.annotations);
  const labels = Object.entries(alert.labels ?? {});
  return element("article", {class: "panel alert", "data-state": alert.state, "aria-label": `${alert.rule}, ${alert.state}`},
    element("header", null, stateMark(alert.state), element("h2", null, alert.rule), element("span", {class: "soft small"}, alert.group)),
    first ? element("p", {class: "summary"}, first[1]) : null,
    labels.length ? element("ul", {class: "labels", "aria-label": "Labels"}, labels.map(([name, value]) => element("li", null, element("span", {class: "soft"}, name), " ", value ?? "–"))) : null,
    element("p", {class: "small"}, sinceText(alert)),
    alert.reason ? element("p", {class: "reason"}, alert.reason) : null,
    quantities(alert),
    element("p", {class: "small soft"}, CERTAINTY[alert.certainty] ?? alert.certainty ?? "", alert.count === null || alert.count === undefined ? null : ` ${whole(alert.count)} events in the window.`),
    others.length ? element("dl", {class: "annotations small"}, others.map(([name, text]) => [element("dt", null, name), element("dd", null, text)])) : null,
    fleet(alert.fleet),
    address ? element("p", null, element("a", {href: address}, alert.state === "resolved" ? "Show the key at that time" : "Show the key")) : null,
  );
}

function ordered(annotations) {
  const order = (name) => (FIRST.indexOf(name) + 1 || 99);
  const pairs = Object.entries(annotations ?? {}).sort(([one], [other]) => order(one) - order(other));
  return pairs.length && order(pairs[0][0]) === 99 ? [undefined, ...pairs] : pairs;
}

// Each quantity of the condition, with its interval.
function quantities(alert) {
  const pairs = Object.entries(alert.quantities ?? {});
  if (pairs.length === 0) return null;
  return element("dl", {class: "quantities"}, pairs.map(([name, [low, value, high]]) => {
    const unit = alert.units?.[name] === "%" ? "share" : alert.units?.[name] ?? null;
    const texts = estimate(value, low, high, unit);
    const bounds = texts.interval === "exact" ? " exact" : ` (${texts.interval})`;
    return element("div", null, element("dt", null, name), element("dd", null, element("b", null, texts.value), texts.interval ? element("span", {class: "soft"}, bounds) : null));
  }));
}

function fleet(report) {
  if (!report) return null;
  const named = report.members ?? [];
  const more = report.violating - named.length;
  return element("div", {class: "fleet small"},
    element("p", null, `${whole(report.violating)} of ${whole(report.total)} members violate the condition`, report.silent ? `; ${whole(report.silent)} ${report.silent === 1 ? "is" : "are"} silent` : null, report.suspect ? `. Suspect: ${report.suspect}` : null, "."),
    named.length ? element("ul", {class: "labels", "aria-label": "Members that violate the condition"}, named.map((name) => element("li", null, name)), more > 0 ? element("li", {class: "soft"}, `and ${whole(more)} more`) : null) : null);
}
