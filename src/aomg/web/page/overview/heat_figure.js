// The figure of the heat map: columns, colours, and labels of both axes.

import {asText, look} from "../lib/plot.js";
import {keyText} from "../lib/format.js";
import {timeTicks} from "../lib/ticks.js";

// Columns at their times; empty columns where windows are missing, so that the others keep their width.
function withGaps(ends, values) {
  const times = ends.map((end) => new Date(end).getTime());
  const steps = times.slice(1).map((time, position) => time - times[position]).sort((a, b) => a - b);
  const step = steps.length > 0 ? steps[Math.floor(steps.length / 2)] : 60000;
  const x = [];
  const from = [];
  times.forEach((time, position) => {
    if (position > 0 && time - times[position - 1] > 1.6 * step) {
      x.push(times[position - 1] + step, time - step);
      from.push(-1, -1);
    }
    x.push(time);
    from.push(position);
  });
  return {x, step, z: values.map((row) => from.map((position) => (position < 0 ? null : row[position])))};
}

// Maps values to colours: {scale(value), low, high, ticks, share(value)}.
export function colouring(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of values) for (const value of row) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  // logarithmic if values are far apart: one outlier must not make all others look alike
  const log = low > 0 && high / low > 5;
  const scale = (value) => (value === null ? null : log ? Math.log10(value) : value);
  const [first, last] = low < high ? [scale(low), scale(high)] : [low - 1, low + 1];
  return {scale, low: first, high: last, ticks: colourTicks(low, high, log), share: (value) => (scale(value) - first) / (last - first)};
}

// Plotly's figure of a heat map: colours, bursts, the selected cell, and labels that do not overlap.
export function heatFigure(data, colours, width, height, cell) {
  const {ink} = look();
  const names = tickNames(data.keys, width > 800 ? 36 : 18);
  const shared = new Set(data.shared_bursts);
  const {x, z, step} = withGaps(data.ends, data.values);
  const every = Math.max(Math.ceil((data.keys.length * 15) / Math.max(height - 40, 60)), 1);
  const times = timeTicks(x[0], x.at(-1), Math.max(Math.floor((width - 90) / 76), 2));
  const shapes = cell ? [{type: "rect", x0: time(cell[1]) - step / 2, x1: time(cell[1]) + step / 2, y0: cell[0] - 0.5, y1: cell[0] + 0.5, line: {color: ink, width: 2}, layer: "above"}] : [];
  function time(column) {
    return new Date(data.ends[column]).getTime();
  }
  return {
    data: [
      {
        type: "heatmap", x, y: data.keys.map((_, row) => row), z: z.map((row) => row.map(colours.scale)), colorscale: "Cividis", zmin: colours.low, zmax: colours.high, showscale: false,
        hoverinfo: "none", hoverongaps: false, ygap: data.keys.length > 40 ? 0 : 1, xgap: 0,
      },
      // bursts that most keys have at once are small: they share a cause, which the text below says
      ...[false, true].map((isShared) => {
        const bursts = data.bursts.filter(([, column]) => shared.has(column) === isShared);
        return {
          type: "scatter", mode: "markers", meta: isShared ? "shared bursts" : "bursts", x: bursts.map(([, column]) => time(column)), y: bursts.map(([row]) => row), hoverinfo: "none",
          marker: isShared ? {symbol: "diamond-open", size: 4, color: "#ffffff", opacity: 0.6, line: {width: 1}} : {symbol: "diamond", size: 6, color: "#ffffff", line: {color: "#1c2127", width: 1}}, showlegend: false,
        };
      }),
    ],
    layout: {
      height, margin: {l: 8, r: 12, t: 8, b: 8}, hovermode: "closest", dragmode: false, shapes,
      xaxis: {range: [x[0] - step / 2, x.at(-1) + step / 2], tickvals: times.map((one) => one.time), ticktext: times.map((one) => one.text), fixedrange: true, showgrid: false, zeroline: false, ticks: "outside", ticklen: 4},
      yaxis: {
        range: [data.keys.length - 0.5, -0.5], tickvals: data.keys.map((_, row) => row).filter((row) => row % every === 0), ticktext: names.filter((_, row) => row % every === 0).map(asText),
        fixedrange: true, showgrid: false, zeroline: false, ticks: "",
      },
    },
  };
}

// Short names of keys: without labels that all keys share; long names are shortened.
function tickNames(keys, most) {
  const differ = Object.keys(keys[0] ?? {}).filter((label) => keys.some((key) => key[label] !== keys[0][label]));
  const distinctLabels = (key) => (differ.length === 0 ? key : Object.fromEntries(differ.map((label) => [label, key[label]])));
  return keys.map((key) => shortened(keyText(distinctLabels(key)), most));
}

// Keeps both ends of a long text: keys often differ at the end.
function shortened(text, most) {
  if (text.length <= most) return text;
  const letters = [...text];
  return `${letters.slice(0, most / 2 - 1).join("")}…${letters.slice(1 - most / 2).join("")}`;
}

// Round numbers in a range: 1, 2 and 5 times powers of ten, at most six.
function colourTicks(low, high, log) {
  if (!(low < high)) return Number.isFinite(low) ? [low] : [];
  if (log) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
      for (const times of [1, 2, 5]) if (times * 10 ** power >= low && times * 10 ** power <= high) ticks.push(times * 10 ** power);
    }
    if (ticks.length > 6) return ticks.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9);
    return ticks;
  }
  const rough = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * size).find((one) => one >= rough);
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) ticks.push(Number(value.toPrecision(12)));
  return ticks;
}
