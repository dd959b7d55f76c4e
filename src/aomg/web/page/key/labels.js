// Labels and marks in a key's figure: limits, alerts, the selected window, names of lines and panels.

import {inside} from "./panels.js";
import {translucent} from "./styles.js";
import {asText} from "../lib/plot.js";
import {tick} from "../lib/format.js";

// One label for all rules with the same limit, at the left; targets are named at the right.
export function limitLabels(limits, series, options, look) {
  const titleOf = (limit) => series.find((one) => one.name === limit.estimate).title;
  const byValue = Map.groupBy(limits, (limit) => `${limit.kind === "target"} ${limit.value}`);
  return [...byValue.values()].map((same) => {
    const [{value, kind, estimate: name}] = same;
    const estimate = series.find((one) => one.name === name);
    const isTarget = kind === "target";
    const limitText = tick(value, estimate.unit);
    const texts = [...new Set(same.map((limit) => (isTarget ? `target ${limit.rule}${options.width < 600 ? "" : `: ${titleOf(limit)} at most ${limitText}`}` : `${limit.rule}: ${titleOf(limit)} ${limit.operator} ${limitText}`)))];
    return {
      xref: "paper", x: isTarget ? 1 : 0, xanchor: isTarget ? "right" : "left", yref: "y", y: options.log ? Math.log10(value) : value, yanchor: "bottom", showarrow: false,
      text: asText(texts.join(", ")), font: {size: 11, color: isTarget ? look.soft : estimate.colour}, bgcolor: translucent(look.paper, 0.88), borderpad: 1, align: "left",
    };
  });
}

function visible(span, view) {
  return span.to >= view.from && span.from <= view.to;
}

export function spanShapes(spans, view, look) {
  return spans.filter((span) => visible(span, view)).map((span) => {
    const colour = span.state === "firing" ? look.bad : look.warn;
    return {
      type: "rect", name: `alert ${span.state}`, xref: "x", yref: "y domain", x0: span.from, x1: span.to, y0: 0, y1: 1, layer: "below",
      fillcolor: translucent(colour, span.state === "firing" ? 0.13 : 0.08), line: {color: translucent(colour, 0.75), width: 1, dash: span.state === "firing" ? "solid" : "2px,3px"},
    };
  });
}

// Labels are in lanes from the top, so that they do not overlap.
export function spanLabels(spans, view, options) {
  const lanes = [];
  const perMs = Math.max(options.width - 110, 100) / Math.max(view.to - view.from, 1);
  const labels = [];
  for (const span of spans.filter((one) => visible(one, view) && (one.state === "firing" || one.open))) {
    const text = `${span.state === "firing" ? "▲" : "◐"} ${span.rule}`;
    const width = text.length * 6.6 + 10;
    const left = Math.min(Math.max(0, (Math.max(span.from, view.from) - view.from) * perMs), Math.max(0, (view.to - view.from) * perMs - width));
    let lane = lanes.findIndex((end) => end <= left);
    if (lane < 0) lane = lanes.length;
    if (lane > 3) continue;
    lanes[lane] = left + width;
    labels.push({
      xref: "x", x: view.from + left / perMs, xanchor: "left", yref: "y domain", y: 1, yanchor: "top", yshift: -lane * 17 - 1, showarrow: false,
      text: asText(text), font: {size: 11, color: span.state === "firing" ? options.look.bad : options.look.warn}, bgcolor: translucent(options.look.paper, 0.82), borderpad: 1,
    });
  }
  return labels;
}

// The selected window.
export function windowShape(options, look) {
  if (!options.windowEnd) return [];
  return [{type: "line", name: "at", xref: "x", yref: "paper", x0: options.windowEnd, x1: options.windowEnd, y0: 0, y1: 1, line: {color: look.link, width: 1.5, dash: "1px,2px"}}];
}

// The name of each line at its right end, without overlaps.
export function endLabels(series, view, span, options, domains) {
  const place = (value) => {
    const [low, high, own] = options.log ? [Math.log10(span[0]), Math.log10(span[1]), Math.log10(value)] : [...span, value];
    return ((own - low) / (high - low)) * domains.tall;
  };
  const labels = [];
  for (const estimate of series) {
    const last = estimate.values.findLastIndex((value, index) => value !== null && inside(view, index) && (!options.log || value > 0));
    if (last >= 0) labels.push({estimate, height: place(estimate.values[last])});
  }
  labels.sort((one, other) => one.height - other.height);
  for (let round = 1; round < labels.length; round++) labels[round].height = Math.max(labels[round].height, labels[round - 1].height + 14);
  return labels.map(({estimate, height}) => ({
    xref: "paper", x: 1, xanchor: "left", xshift: 4, yref: "y domain", y: Math.min(Math.max(height / domains.tall, 0), 1), yanchor: "middle", showarrow: false,
    text: asText(estimate.title), font: {size: 12, color: estimate.colour},
  }));
}

export function panelNames(domains, look, shares) {
  const named = [[domains.strip[1], "method of each estimate"], [domains.counts[1], "events in the window"], ...(shares ? [[domains.shares[1], "share of events"]] : [])];
  return named.map(([y, text]) => ({xref: "paper", x: 0, xanchor: "left", yref: "paper", y, yanchor: "bottom", yshift: 2, showarrow: false, text, font: {size: 11, color: look.soft}}));
}
