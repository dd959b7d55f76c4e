// What is told of one point of a key: all its quantiles with interval and method, its events, and its time twice.

import {element} from "../lib/element.js";
import {estimate as textsOf, stateMark, timeWithUtc, whole} from "../lib/format.js";

// shown: {hidden: Set of names, styles: by name, unitOf(name)}
export function tipContent(data, at, shown) {
  const rows = data.estimates.filter((estimate) => !shown.hidden.has(estimate.name)).map((estimate) => {
    const {number, dash, width} = shown.styles[estimate.name];
    const method = estimate.methods[at];
    const {value, interval} = textsOf(estimate.values[at], estimate.low[at], estimate.high[at], shown.unitOf(estimate.name));
    return element("tr", null, element("th", {scope: "row"}, sample(`series-${number + 1}`, dash, width), estimate.title), element("td", {class: "number"}, value),
      element("td", {class: "number soft"}, interval === method ? null : interval), element("td", {class: "soft"}, method));
  });
  return [
    element("p", null, element("strong", null, timeWithUtc(data.ends[at]))), element("table", null, element("tbody", null, rows)),
    element("p", {class: "soft"}, `${whole(data.counts[at])} events`, data.bursts[at] ? [" ", stateMark("burst")] : null),
  ];
}

// A piece of a line as it is drawn in the plot.
export function sample(variable, dash, thick) {
  return element("svg", {class: "sample", viewBox: "0 0 24 10", "aria-hidden": "true"}, element("line", {x1: 0, y1: 5, x2: 24, y2: 5, "stroke-width": thick, "stroke-dasharray": dash === "solid" ? null : dash.replaceAll("px", ""), style: {stroke: `var(--${variable})`}}));
}
