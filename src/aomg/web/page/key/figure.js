// The figure of a key over time: quantiles with their intervals, limits, bursts and alerts; methods; event counts. All
// panels share one time axis: a zoom in one zooms all.

import {alertSpans} from "../alerts/spans.js";
import {endLabels, limitLabels, panelNames, spanLabels, spanShapes, windowShape} from "./labels.js";
import {bands, inside, panels, shareRange, valueRange} from "./panels.js";
import {STYLES} from "./styles.js";
import {band, bursts, limitTraces, line, strip} from "./traces.js";
import {asText} from "../lib/plot.js";
import {scaled} from "../lib/scales.js";
import {unitFor} from "../lib/format.js";
import {timeAxis} from "../lib/ticks.js";

// data: the response of /api/key; options: {query (of /api/status), range: [from, to] and windowEnd in milliseconds, log,
// hidden: Set, look, width, height}. Returns {data, layout, bands}: bands says which intervals cannot be seen.
export function keyFigure(data, options) {
  const {look, query} = options;
  const moments = data.ends.map((end) => Date.parse(end));
  const series = data.estimates.map((estimate, index) => ({
    ...estimate, unit: unitFor(query, estimate.name), colour: look.series[index % look.series.length], ...STYLES[index % STYLES.length],
  }));
  const visible = series.filter((estimate) => !options.hidden.has(estimate.name));
  const main = visible.filter((estimate) => estimate.unit !== "share");
  const shares = visible.filter((estimate) => estimate.unit === "share");
  const domains = panels(options.height, series.length, shares.length > 0);
  const view = {moments, from: options.range[0], to: options.range[1]};
  const limits = data.limits.filter((limit) => main.some((estimate) => estimate.name === limit.estimate));
  const span = valueRange(main, limits, view, options.log);
  const traces = [
    ...main.flatMap((estimate) => band(estimate, moments, "y", options.log ? span[0] : null)),
    ...shares.flatMap((estimate) => band(estimate, moments, "y4", null)),
    ...limitTraces(limits, main, [...options.range], look),
    ...main.map((estimate) => line(estimate, moments, "y")),
    ...shares.map((estimate) => line(estimate, moments, "y4")),
    ...bursts(data, main.at(-1) ?? shares.at(-1), view, look),
    ...strip(data, series, moments, look),
    // filled like a band: Plotly's own fill to zero does not stop at gaps
    {...band({title: "events", name: "count", colour: look.soft, low: data.counts.map((count) => count && 0), high: data.counts}, moments, "y3", null)[0], meta: "count fill"},
    {...line({title: "events", name: "count", values: data.counts, colour: look.soft, width: 1, dash: "solid"}, moments, "y3"), meta: "count"},
  ];
  const spans = alertSpans(data.alerts, view.to);
  const most = Math.max(0, ...data.counts.filter((count, index) => count !== null && inside(view, index)));
  return {
    bands: bands(main, view, span, options.log, domains.tall),
    data: traces,
    layout: {
      showlegend: false, hovermode: "x", hoverdistance: -1, spikedistance: -1, dragmode: "zoom",
      height: options.height, margin: {l: 8, r: Math.min(56, options.width / 8), t: 10, b: 8},
      xaxis: {
        type: "linear", range: [...options.range], ...timeAxis(...options.range, options.width), zeroline: false, anchor: "y3", showgrid: true, showspikes: true, spikemode: "across", spikesnap: "hovered data",
        spikethickness: 1, spikecolor: look.soft, spikedash: "solid",
      },
      yaxis: {domain: domains.main, type: options.log ? "log" : "linear", fixedrange: true, ...scaled(span, options.log, query?.unit ?? data.unit, domains.tall)},
      yaxis2: {
        domain: domains.strip, fixedrange: true, range: [-0.6, series.length - 0.4], tickvals: series.map((_, index) => index),
        ticktext: series.map((estimate) => asText(estimate.title)), tickfont: {size: 10, color: look.soft}, showgrid: false, zeroline: false,
      },
      yaxis3: {domain: domains.counts, fixedrange: true, range: [0, most * 1.08 || 1], nticks: 3, showticklabels: most > 0, tickformat: "~s", zeroline: false},
      ...(shares.length ? {yaxis4: {domain: domains.shares, fixedrange: true, nticks: 4, tickformat: ".3~%", zeroline: false, ...shareRange(shares, view)}} : {}),
      shapes: [...spanShapes(spans, view, look), ...windowShape(options, look)],
      annotations: [
        ...spanLabels(spans, view, options), ...limitLabels(limits, main, options, look), ...endLabels(main, view, span, options, domains),
        ...panelNames(domains, look, shares.length > 0),
      ],
    },
  };
}
