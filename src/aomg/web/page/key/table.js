// The newest points of a key as a table, for readers and screen readers.

import {element} from "../lib/element.js";
import {estimate as textsOf, timeWithUtc, whole} from "../lib/format.js";

const MOST = 50;

// {place, show(data, unitOf)}. Rows are created only while it is open.
export function keyTable() {
  const head = element("thead");
  const body = element("tbody");
  const caption = element("caption", {class: "unseen"});
  const place = element("details", {class: "panel as-table"}, element("summary", null, "As a table"), element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "The newest points"}, element("table", null, caption, head, body)));
  let now = null;
  place.addEventListener("toggle", fillIt);

  function fillIt() {
    if (!place.open || now === null) return;
    const {data, unitOf} = now;
    const points = data.ends.map((_, index) => index).filter((index) => data.counts[index] !== null).slice(-MOST).reverse();
    caption.textContent = `The newest ${points.length} displayed points, newest first`;
    head.replaceChildren(element("tr", null, element("th", {scope: "col"}, "Window ended"), data.estimates.map((estimate) => element("th", {scope: "col", class: "number"}, estimate.title)), element("th", {scope: "col", class: "number"}, "Events"), element("th", {scope: "col"}, "Burst")));
    body.replaceChildren(...points.map((index) => element("tr", null, element("th", {scope: "row"}, timeWithUtc(data.ends[index])), data.estimates.map((estimate) => {
      const method = estimate.methods[index];
      const {value, interval} = textsOf(estimate.values[index], estimate.low[index], estimate.high[index], unitOf(estimate.name), method);
      return element("td", {class: "number"}, value, element("span", {class: "soft bounds"}, [interval, method].filter((one, place, all) => one && all.indexOf(one) === place).join(" · ")));
    }), element("td", {class: "number"}, whole(data.counts[index])), element("td", null, data.bursts[index] ? "burst" : ""))));
  }

  return {
    place,
    show(data, unitOf) {
      now = {data, unitOf};
      fillIt();
    },
  };
}
