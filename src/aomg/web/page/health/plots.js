// The small plots of the health view, all over the same time range.

import {asText, look} from "../lib/plot.js";
import {scaled} from "../lib/scales.js";
import {bytes, brief, duration, whole} from "../lib/format.js";
import {timeAxis} from "../lib/ticks.js";

const PHASES = ["find", "plan", "compute", "write", "commit"];
export const PATTERNS = ["", "/", ".", "\\", "x"];

// What is drawn: title, number of a batch, and its text. Optional ones are drawn only if known.
export const PICTURES = [
  {name: "events", title: "Events per second", text: (batch) => `${brief(batch.events_per_second)}/s`, of: (batch) => batch.events_per_second, series: 1},
  {name: "lag", title: "Lag behind the clock", text: (batch) => duration(batch.lag_seconds), of: (batch) => batch.lag_seconds, series: 0, unit: "s", optional: true},
  {name: "phases", title: "Duration of micro-batches", text: (batch) => duration(batch.seconds), of: (batch) => batch.seconds, unit: "s"},
  {name: "refused", title: "Refused and late events", text: (batch) => `${whole(batch.refused)} refused, ${batch.newly_late === null ? "late unknown" : `${whole(batch.newly_late)} late`}`, of: (batch) => (batch.refused ?? 0) + (batch.newly_late ?? 0)},
  {name: "state", title: "Spark state", text: (batch) => bytes(batch.state_bytes), of: (batch) => batch.state_bytes, series: 3, bytes: true},
];

// Late events are counted since the stream began, and not in every batch: adds the new ones of each batch.
export function withNewlyLate(batches) {
  let known = null;
  return batches.map((batch) => {
    const late = batch.late ?? null;
    const fresh = late === null || known === null ? (late === null ? null : 0) : Math.max(late - known, 0);
    known = late ?? known;
    return {...batch, newly_late: fresh};
  });
}

export function healthFigure(picture, batches, width) {
  const colours = look();
  const x = batches.map((batch) => Date.parse(batch.at));
  const range = timeRange(x);
  const highest = Math.max(0, ...batches.map((batch) => picture.of(batch) ?? 0));
  const axis = highest > 0 ? {...scaled([0, highest * 1.12], false, picture.unit ?? null, 150)} : {range: [0, 1], tickvals: [0], ticktext: ["0"]};
  if (picture.bytes && highest > 0) {
    const step = 2 ** Math.floor(Math.log2(highest / 2));
    axis.tickvals = [0, step, 2 * step, 3 * step].filter((value) => value <= highest * 1.12);
    axis.ticktext = axis.tickvals.map((value) => bytes(value).replace(/\.0+(?=\D)/, ""));
  } else if (!picture.unit && highest > 0) axis.ticktext = axis.tickvals.map((value) => brief(value).replace(/\.0+(?=\D|$)/, ""));
  return {
    data: traces(picture, batches, x, colours),
    layout: {
      showlegend: false, hovermode: "x", hoverdistance: -1, barmode: "stack", bargap: 0, height: 190, margin: {l: 8, r: 10, t: 8, b: 8}, dragmode: false,
      xaxis: {type: "linear", range, fixedrange: true, ...timeAxis(...range, width), zeroline: false, showgrid: false, showspikes: true, spikemode: "across", spikethickness: 1, spikecolor: colours.soft, spikedash: "solid"},
      yaxis: {fixedrange: true, ...axis, zeroline: false},
    },
  };
}

// From the first batch to the last, plus half a bar at both ends: the same in all plots.
function timeRange(x) {
  const [first, last] = [Math.min(...x), Math.max(...x)];
  const half = x.length > 1 ? (last - first) / (x.length - 1) / 2 : 30000;
  return [first - half, last + half];
}

function traces(picture, batches, x, colours) {
  const customdata = batches.map((_, index) => index);
  if (picture.name === "phases") {
    return phasesOf(batches).map((phase, index) => ({
      type: "bar", name: asText(phase), meta: `phase ${phase}`, x, y: batches.map((batch) => phaseOf(batch, phase)), customdata, hoverinfo: "none",
      marker: {color: phase === "other" ? colours.line : colours.series[phaseColour(index)], line: {width: 0}, pattern: {shape: phase === "other" ? "" : PATTERNS[index % PATTERNS.length], size: 6, solidity: 0.15, fgcolor: colours.paper, fillmode: "overlay"}},
    }));
  }
  if (picture.name === "refused") {
    return [["refused", 2, "", "refused"], ["late", 1, "/", "newly_late"]].map(([name, series, shape, part]) => ({
      type: "bar", name, meta: name, x, y: batches.map((batch) => batch[part]), customdata, hoverinfo: "none", marker: {color: colours.series[series], line: {width: 0}, pattern: {shape, size: 6, solidity: 0.25, fgcolor: colours.paper, fillmode: "overlay"}},
    }));
  }
  const colour = colours.series[picture.series];
  return [{
    type: "scatter", mode: batches.length < 40 ? "lines+markers" : "lines", name: picture.name, meta: picture.name, x, y: batches.map(picture.of), customdata, hoverinfo: "none", fill: "tozeroy", fillcolor: colour.replace("rgb(", "rgba(").replace(")", ", 0.12)"),
    line: {color: colour, width: 2, simplify: false}, marker: {size: 4, color: colour}, connectgaps: false,
  }];
}

// The phases of all batches, the known ones first; then "other" for the remaining time.
export function phasesOf(batches) {
  const reported = new Set(batches.flatMap((batch) => Object.keys(batch.phases ?? {})));
  const named = [...PHASES.filter((phase) => reported.has(phase)), ...[...reported].filter((phase) => !PHASES.includes(phase))];
  return [...named, "other"];
}

export function phaseOf(batch, phase) {
  if (phase !== "other") return batch.phases?.[phase] ?? null;
  const explained = Object.values(batch.phases ?? {}).reduce((sum, part) => sum + (part ?? 0), 0);
  return batch.seconds === null ? null : Math.max(batch.seconds - explained, 0);
}

export function phaseColour(index) {
  return (index + 1) % 5;
}
