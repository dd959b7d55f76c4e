// The chart of the only key, in place of a heat map that would be one stripe.

import {keyFigure} from "../key/figure.js";
import {keyAddress} from "../lib/address.js";
import {Superseded} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {draw, look} from "../lib/plot.js";
import {keyText} from "../lib/format.js";

const POINTS = 600;
const HEIGHT = 520;

// Fills a panel. Returns {show(data), close()}; data: the response of /api/heatmap for one key.
export function oneKey(panel, ask, queryNow) {
  const heading = element("h2", null, "");
  const link = element("a", {class: "button end"}, "All about this key");
  const plot = element("div", {class: "plot", role: "img"});
  panel.replaceChildren(element("div", {class: "head"}, heading, link), plot);
  let answer = null;
  let drawn = null;
  let closed = false;

  function figure() {
    const moments = answer.ends.map((end) => Date.parse(end));
    const margin = Math.max((moments.at(-1) - moments[0]) * 0.01, 1000);
    return keyFigure(answer, {
      query: queryNow(), range: [moments[0] - margin, moments.at(-1) + margin], windowEnd: null, log: true, hidden: new Set(), look: look(), width: plot.clientWidth, height: HEIGHT,
    });
  }

  return {
    async show(data) {
      const [key] = data.keys;
      const labels = Object.fromEntries(Object.entries(key).map(([name, value]) => [`key.${name}`, value ?? ""]));
      try {
        answer = await ask("/api/key", {query: data.query, ...labels, from: data.ends[0], to: data.ends.at(-1), points: POINTS}, "one key");
      } catch (error) {
        if (error instanceof Superseded) return;
        throw error;
      }
      if (closed) return;
      const name = keyText(key, true);
      write(heading, `${name === "all" ? "All events" : name} over time`);
      mark(link, "href", keyAddress(data.query, key));
      mark(plot, "aria-label", `Quantiles of ${keyText(key, true)} over time, with their intervals`);
      plot.style.height = `${HEIGHT}px`;
      if (drawn !== null) await drawn.update();
      else {
        drawn = await draw(plot, figure, {staticPlot: true});
        if (closed) drawn.close();
      }
      mark(panel, "data-drawn", true);
    },
    close() {
      closed = true;
      drawn?.close();
    },
  };
}
