// The newest points of a key as a table: for those who would rather read, or have it read to them.

import {element} from "../lib/element.js";
import {estimate as textsOf, timeWithUtc, whole} from "../lib/format.js";

const MOST = 50;

// {place, show(data, unitOf)}. Rows are made only while it is open: nobody waits for what nobody sees.
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
    const points = data.ends.map((_, at) => at).filter((at) => data.counts[at] !== null).slice(-MOST).reverse();
    caption.textContent = `The newest ${points.length} points that are shown, newest first`;
    head.replaceChildren(element("tr", null, element("th", {scope: "col"}, "Window ended"), data.estimates.map((estimate) => element("th", {scope: "col", class: "number"}, estimate.title)), element("th", {scope: "col", class: "number"}, "Events"), element("th", {scope: "col"}, "Burst")));
    body.replaceChildren(...points.map((at) => element("tr", null, element("th", {scope: "row"}, timeWithUtc(data.ends[at])), data.estimates.map((estimate) => {
      const {value, interval} = textsOf(estimate.values[at], estimate.low[at], estimate.high[at], unitOf(estimate.name));
      return element("td", {class: "number"}, value, element("span", {class: "soft bounds"}, [interval, estimate.methods[at]].filter((one, place, all) => one && all.indexOf(one) === place).join(" · ")));
    }), element("td", {class: "number"}, whole(data.counts[at])), element("td", null, data.bursts[at] ? "burst" : ""))));
  }

  return {
    place,
    show(data, unitOf) {
      now = {data, unitOf};
      fillIt();
    },
  };
}
