// The texts of the guide, with the numbers of one window.

import {METHODS} from "../key/styles.js";
import {element} from "../lib/element.js";
import {duration, estimate as textsOf, keyText, quantity, stateMark, timeRange, timeWithUtc, unitFor, whole, width} from "../lib/format.js";

// shown: see example.js; null gives the texts without numbers.
export function sections(shown) {
  return [
    section("Window", windowText(shown)),
    section("Low..high", ...intervalText(shown)),
    section("Certified", ...methodText(shown)),
    section("Burst", ...burstText(shown)),
  ];
}

function section(title, ...texts) {
  return element("section", null, element("h3", null, title), texts.map((text) => (text instanceof Node ? text : element("p", null, text))));
}

function windowText(shown) {
  if (shown === null) return "Every number is about one window: the events of a span of time. Windows slide: each new one drops the oldest part and adds the newest.";
  const {query, data, index} = shown;
  const name = keyText(data.key, true);
  const end = data.ends[index];
  const size = query.size_seconds ?? data.starts_seconds;
  const start = new Date(Date.parse(end) - size * 1000).toISOString();
  const next = query.period_seconds ? ` Every ${duration(query.period_seconds)} a new window ends: it drops the oldest ${duration(query.period_seconds)} and adds the newest.` : "";
  return [`You see ${name === "all" ? "all events together" : name}, in the window of ${duration(size)} from ${timeRange(start, end)}. It has ${whole(data.counts[index])} events.${next}`];
}

function intervalText(shown) {
  if (shown === null || shown.estimate === null) return ["Below each value is an interval low..high. It contains the exact value of the window's events, always."];
  const {query, data, index, estimate} = shown;
  const unit = unitFor(query, estimate.name);
  const [value, low, high, method] = [estimate.values[index], estimate.low[index], estimate.high[index], estimate.methods[index]];
  const texts = textsOf(value, low, high, unit, method);
  const described = query.estimates.find((one) => one.name === estimate.name);
  const above = described?.quantile ? (1 - described.quantile) * data.counts[index] : null;
  const meaning = above === null ? "" : ` About ${whole(Math.max(Math.round(above), 1))} of the ${whole(data.counts[index])} events are above it.`;
  if (texts.interval === "exact" || low === high) return [`${estimate.title} is ${texts.value}, exactly: low and high are equal.${meaning}`];
  const relative = unit !== "share" && value ? `, ${width((high - low) / value, false)} of the value` : "";
  return [
    `${estimate.title} is ${texts.value}.${meaning}`,
    numberLine(texts, (value - low) / (high - low)),
    `The raw events are not stored. Even so, the exact ${estimate.title} is certain to be between ${texts.bounds.split("..").join(" and ")}${texts.value.includes("\u00a0") ? `\u00a0${texts.value.split("\u00a0").at(-1)}` : ""}, whatever the data. The interval is ${quantity(high - low, unit)} wide${relative}.`,
  ];
}

// low, value and high on a line; `share`: where the value is between them.
function numberLine(texts, share) {
  const [low, high] = texts.bounds.split("..");
  const at = 10 + 80 * Math.min(Math.max(share, 0), 1);
  return element("div", {class: "number-line", role: "img", "aria-label": `${texts.value} between ${low} and ${high}`},
    element("span", {class: "range"}), element("span", {class: "point", style: {left: `${at}%`}}),
    element("span", {class: "end low"}, low), element("span", {class: "end high"}, high), element("b", {style: {left: `${at}%`}}, texts.value));
}

function methodText(shown) {
  const general = "Each estimate says how it was found. Certified means: the estimate and the exact value have the same leading digits, as many as the query keeps.";
  if (shown === null) return [general];
  const {query, data, index} = shown;
  const all = data.estimates.map((one) => ({title: one.title, method: one.methods[index], texts: textsOf(one.values[index], one.low[index], one.high[index], unitFor(query, one.name), one.methods[index])})).filter((one) => one.method);
  const certified = all.findLast((one) => one.method === "certified" && one.texts.bounds.includes(".."));
  const digits = certified ? commonDigits(certified.texts.bounds) : "";
  const proof = digits ? ` Here ${certified.title} is between ${certified.texts.bounds.split("..").join(" and ")}: both begin with ${digits}, so the exact ${certified.title} does, too.` : all.some((one) => one.method === "certified") ? "" : " No estimate of this window is certified: the interval says how far it can be off.";
  return [general + proof, element("ul", {class: "small"}, all.map((one) => element("li", null, element("b", null, one.title), ` ${one.texts.value}, ${one.method}${METHODS[one.method] ? `: ${METHODS[one.method].meaning}` : ""}`)))];
}

function commonDigits(bounds) {
  const [low, high] = bounds.split("..");
  let length = 0;
  while (length < low.length && low.length === high.length && low[length] === high[length]) length++;
  return low.slice(0, length).replace(/[.,]$/, "");
}

function burstText(shown) {
  const general = [stateMark("burst"), " means that the tail of the newest part of a window is clearly larger than that of the part before, or remains larger. High quantiles are about to rise: the larger values fill the window step by step."];
  if (shown === null) return [element("p", null, general)];
  const {data, index} = shown;
  const windows = data.counts.filter((count) => count !== null).length;
  const marked = data.bursts.map((burst, place) => (burst ? place : -1)).filter((place) => place >= 0);
  const last = marked.at(-1);
  const now = data.bursts[index] ? "This window has one." : "This window has none.";
  const before = marked.length === 0 ? ` None of the ${whole(windows)} windows in memory has one.` : ` Of the ${whole(windows)} windows in memory ${whole(marked.length)} ${marked.length === 1 ? "has" : "have"} one; the last ended ${timeWithUtc(data.ends[last])}.`;
  const many = marked.filter((place) => data.shared_bursts[place]).length;
  const shared = many === 0 ? "" : ` ${many === marked.length ? "In all of these" : `In ${whole(many)} of these`} at least half of all keys burst at the same time: they share a cause, which is not this key alone.`;
  return [element("p", null, general), now + before + shared];
}
