// The tooltip of one point of a key: quantiles with interval and method, events, and the time, also in UTC.

import {element} from "../lib/element.js";
import {estimate as textsOf, stateMark, timeWithUtc, whole} from "../lib/format.js";

// options: {hidden: Set of names, styles: by name, unitOf(name)}
export function tipContent(data, index, options) {
  const rows = data.estimates.filter((estimate) => !options.hidden.has(estimate.name)).map((estimate) => {
    const {number, dash, width} = options.styles[estimate.name];
    const method = estimate.methods[index];
    const {value, interval} = textsOf(estimate.values[index], estimate.low[index], estimate.high[index], options.unitOf(estimate.name), method);
    return element("tr", null, element("th", {scope: "row"}, sample(`series-${number + 1}`, dash, width), estimate.title), element("td", {class: "number"}, value),
      element("td", {class: "number soft"}, interval === method ? null : interval), element("td", {class: "soft"}, method));
  });
  return [
    element("p", null, element("strong", null, timeWithUtc(data.ends[index]))), element("table", null, element("tbody", null, rows)),
    element("p", {class: "soft"}, `${whole(data.counts[index])} events`, data.bursts[index] ? [" ", stateMark("burst")] : null),
  ];
}

// A sample of a line in the plot.
export function sample(variable, dash, thick) {
  return element("svg", {class: "sample", viewBox: "0 0 24 10", "aria-hidden": "true"}, element("line", {x1: 0, y1: 5, x2: 24, y2: 5, "stroke-width": thick, "stroke-dasharray": dash === "solid" ? null : dash.replaceAll("px", ""), style: {stroke: `var(--${variable})`}}));
}
