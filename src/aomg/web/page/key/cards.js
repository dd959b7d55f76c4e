// The numbers of one window of a key: each quantile with its interval, the interval's width, and its method.

import {element} from "../lib/element.js";
import {METHODS} from "./styles.js";
import {estimate as textsOf, quantity, whole, width} from "../lib/format.js";

// index: of the point in data, or null.
export function keyCards(data, index, unitOf) {
  const quantiles = data.estimates.map((estimate) => {
    const unit = unitOf(estimate.name);
    if (index === null) return card(estimate.name, estimate.title, quantity(null, unit));
    const [value, low, high, method] = [estimate.values[index], estimate.low[index], estimate.high[index], estimate.methods[index]];
    const texts = textsOf(value, low, high, unit, method);
    const wide = unit !== "share" && value && texts.interval !== "" && texts.interval !== "exact" ? `width ${width((high - low) / value, false)}` : "";
    return card(estimate.name, estimate.title, texts.value, texts.interval, [wide, method && method !== texts.interval ? method : ""].filter(Boolean).join(" · "));
  });
  const events = index === null ? card("count", "Events", "–") : card("count", "Events", whole(data.counts[index]), "in the window", data.bursts[index] ? "burst" : "");
  return [...quantiles, events];
}

// What the cards say, in a sentence for each word that they use.
export function reading(data, index) {
  if (index === null) return "";
  const used = new Set(data.estimates.map((estimate) => estimate.methods[index]).filter((name) => METHODS[name]));
  const exact = data.estimates.every((estimate) => estimate.methods[index] === "exact");
  const always = exact ? "" : `Below each value: the interval that contains the exact value of these ${whole(data.counts[index])} events, always. Its width is (high − low) / value. `;
  return always + [...used].map((name) => `${name}: ${METHODS[name].meaning}.`).join(" ");
}

function card(name, title, value, bounds = "", more = "") {
  return element("div", {class: "figure", "data-estimate": name}, element("dt", null, title), element("dd", {class: "value"}, value), bounds ? element("dd", {class: "small"}, bounds) : null, more ? element("dd", {class: "small soft"}, more) : null);
}
