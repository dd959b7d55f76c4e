// The figure of a key over time: quantiles with their bands, limits, bursts and alerts; the methods; the counts. All
// panels have one time axis, so that a zoom in one is a zoom in all.

import {alertSpans} from "./alert_spans.js";
import {asText} from "./plot.js";
import {scaled, short, TIME_TICKS} from "./scales.js";
import {unitFor, wallClock} from "./shown.js";

// Every line differs in dash or width too: colours are never needed to tell them apart.
export const STYLES = [
  {dash: "2px,2px", width: 1.8}, {dash: "8px,3px", width: 1.8}, {dash: "solid", width: 2.4}, {dash: "solid", width: 1.1}, {dash: "9px,3px,2px,3px", width: 2},
];
// How each estimate was found, in the order of trust; the strip has a colour, and a gap or none, for each.
export const METHODS = {
  exact: {said: "certified: right to its last digit", series: 0, dash: "solid"},
  band: {said: "from fine counts around the quantile", series: 1, dash: "solid"},
  envelope: {said: "from coarse counts that bound every quantile", series: 2, dash: "6px,2px"},
  mean: {said: "the mean of the sub-windows' quantiles (Level 2)", series: 3, dash: "3px,2px"},
  "top-k": {said: "from the kept largest values (few-k)", series: 4, dash: "solid"},
  "sample-k": {said: "from a sample of the tail, as it is bursty (few-k)", series: 4, dash: "4px,2px"},
  sketch: {said: "by another sketch, which promises nothing", series: 2, dash: "2px,2px"},
};
const SHARE_PANEL = 0.14;

// Its number among the colours of series, and its dash.
export function methodStyle(name) {
  return METHODS[name] ?? {series: 3, dash: "1px,2px"};
}

// The methods that occur, in the order of METHODS; others last.
export function methodsIn(data) {
  const found = new Set(data.estimates.flatMap((estimate) => estimate.methods).filter(Boolean));
  const known = Object.keys(METHODS);
  return [...found].sort((one, other) => (known.indexOf(one) + 1 || 99) - (known.indexOf(other) + 1 || 99));
}

function translucent(colour, alpha) {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(",")},${alpha})`;
}

// data: what /api/key answers; shown: {query (of /api/status), range: [Date, Date], log, hidden: Set, at, look, width, height}
export function keyFigure(data, shown) {
  const {look, query} = shown;
  const times = data.ends.map((end) => wallClock(end));
  const moments = data.ends.map((end) => Date.parse(end));
  const series = data.estimates.map((estimate, at) => ({
    ...estimate, unit: unitFor(query, estimate.name), colour: look.series[at % look.series.length], ...STYLES[at % STYLES.length],
  }));
  const seen = series.filter((estimate) => !shown.hidden.has(estimate.name));
  const main = seen.filter((estimate) => estimate.unit !== "share");
  const shares = seen.filter((estimate) => estimate.unit === "share");
  const domains = panels(shown.height, series.length, shares.length > 0);
  const view = {moments, from: +shown.range[0], to: +shown.range[1]};
  const limits = data.limits.filter((limit) => main.some((estimate) => estimate.name === limit.estimate));
  const span = valueRange(main, limits, view, shown.log);
  const edges = shown.range.map((date) => wallClock(date));
  const period = typical(moments);
  const traces = [
    ...main.flatMap((estimate) => band(estimate, times, "y", shown.log ? span[0] : null)),
    ...shares.flatMap((estimate) => band(estimate, times, "y4", null)),
    ...limitTraces(limits, main, edges),
    ...main.map((estimate) => line(estimate, times, "y")),
    ...shares.map((estimate) => line(estimate, times, "y4")),
    ...bursts(data, main.at(-1) ?? shares.at(-1), times, view, look),
    ...strip(data, series, moments, period, look),
    // filled as a band is: Plotly's own fill to zero does not stop at gaps
    {...band({title: "events", name: "count", colour: look.soft, low: data.counts.map((count) => count && 0), high: data.counts}, times, "y3", null)[0], meta: "count fill"},
    {...line({title: "events", name: "count", values: data.counts, colour: look.soft, width: 1, dash: "solid"}, times, "y3"), meta: "count"},
  ];
  const spans = alertSpans(data.alerts, view.to);
  const most = Math.max(1, ...data.counts.filter((count, at) => count !== null && inside(view, at)));
  return {
    data: traces,
    layout: {
      showlegend: false, hovermode: "x", hoverdistance: -1, spikedistance: -1, dragmode: "zoom",
      height: shown.height, margin: {l: 8, r: Math.min(56, shown.width / 8), t: 10, b: 8},
      xaxis: {
        type: "date", range: edges, anchor: "y3", showgrid: true, showspikes: true, spikemode: "across", spikesnap: "hovered data",
        spikethickness: 1, spikecolor: look.soft, spikedash: "solid", tickformatstops: TIME_TICKS, nticks: Math.max(3, Math.floor(shown.width / 110)),
      },
      yaxis: {domain: domains.main, type: shown.log ? "log" : "linear", fixedrange: true, ...scaled(span, shown.log, query?.unit ?? data.unit, domains.tall)},
      yaxis2: {
        domain: domains.strip, fixedrange: true, range: [-0.6, series.length - 0.4], tickvals: series.map((_, at) => at),
        ticktext: series.map((estimate) => asText(estimate.title)), tickfont: {size: 10, color: look.soft}, showgrid: false, zeroline: false,
      },
      yaxis3: {domain: domains.counts, fixedrange: true, range: [0, most * 1.08], nticks: 3, tickformat: "~s", zeroline: false},
      ...(shares.length ? {yaxis4: {domain: domains.shares, fixedrange: true, nticks: 4, tickformat: ".3~%", zeroline: false, ...shareRange(shares, view)}} : {}),
      shapes: [...spanShapes(spans, view, look), ...atShape(shown, look)],
      annotations: [
        ...spanLabels(spans, view, shown), ...limitLabels(limits, main, shown, look), ...endLabels(main, view, span, shown, domains),
        ...panelNames(domains, look, shares.length > 0),
      ],
    },
  };
}

function indices(list) {
  return list.map((_, at) => at);
}

function inside(view, at) {
  return view.moments[at] >= view.from && view.moments[at] <= view.to;
}

function typical(moments) {
  const steps = moments.slice(1).map((moment, at) => moment - moments[at]).filter((step) => step > 0).sort((a, b) => a - b);
  return steps.length ? steps[Math.floor(steps.length / 2)] : 60000;
}

// Where each panel is, from the bottom up, in parts of the height; the strip has 11 px for each estimate.
function panels(height, estimates, shares) {
  const inner = Math.max(height - 50, 100);
  const counts = Math.min(0.2, 90 / inner);
  const gap = 26 / inner;
  const strip = [counts + gap, counts + gap + (estimates * 11 + 6) / inner];
  const share = shares ? [strip[1] + gap, strip[1] + gap + SHARE_PANEL] : null;
  const main = [(share ?? strip)[1] + gap, 1];
  return {counts: [0, counts], strip, shares: share, main, tall: (main[1] - main[0]) * inner};
}

// -- Quantiles ---------------------------------------------------------------------------------------------------------

// low..high as one polygon for each stretch without a gap. floor: what a logarithmic axis shows instead of 0 and less.
function band(estimate, times, yaxis, floor) {
  const x = [];
  const y = [];
  const drawable = (at) => estimate.low[at] !== null && estimate.high[at] !== null && (floor === null || estimate.high[at] > 0);
  for (let begin = 0; begin < times.length; begin++) {
    if (!drawable(begin)) continue;
    let stop = begin;
    while (stop < times.length && drawable(stop)) stop++;
    const low = (at) => (floor === null ? estimate.low[at] : Math.max(estimate.low[at], floor));
    for (let at = begin; at < stop; at++) { x.push(times[at]); y.push(estimate.high[at]); }
    for (let at = stop - 1; at >= begin; at--) { x.push(times[at]); y.push(low(at)); }
    x.push(times[begin], null);
    y.push(estimate.high[begin], null);
    begin = stop;
  }
  return [{
    type: "scatter", name: estimate.title, meta: `band ${estimate.name}`, x, y, yaxis, mode: "lines", fill: "toself", hoverinfo: "skip",
    fillcolor: translucent(estimate.colour, 0.24), line: {width: 0.6, color: translucent(estimate.colour, 0.5), simplify: false}, connectgaps: false,
  }];
}

function line(estimate, times, yaxis) {
  const {values} = estimate;
  // a point between two gaps has no line: it gets a dot
  const lonely = values.map((value, at) => value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null);
  const dots = lonely.some(Boolean);
  return {
    type: "scatter", name: estimate.title, meta: `line ${estimate.name}`, x: times, y: values, yaxis, mode: dots ? "lines+markers" : "lines", hoverinfo: "none",
    line: {color: estimate.colour, width: estimate.width, dash: estimate.dash}, customdata: indices(times), connectgaps: false,
    ...(dots ? {marker: {size: lonely.map((alone) => (alone ? 5 : 0)), color: estimate.colour}} : {}),
  };
}

function bursts(data, highest, times, view, look) {
  if (!highest) return [];
  const found = indices(times).filter((at) => data.bursts[at] && highest.values[at] !== null);
  const many = found.filter((at) => inside(view, at)).length;
  return [{
    type: "scatter", name: "burst", meta: "burst", mode: "markers", hoverinfo: "skip", yaxis: highest.unit === "share" ? "y4" : "y",
    x: found.map((at) => times[at]), y: found.map((at) => highest.values[at]),
    marker: {symbol: "diamond", size: many > 120 ? 4 : many > 40 ? 6 : 9, color: many > 40 ? look.series[3] : look.paper, line: {color: look.series[3], width: many > 40 ? 0 : 1.8}},
  }];
}

// A stretch for each run of one method; a trace for each method.
function strip(data, series, moments, period, look) {
  const half = period / 2;
  return methodsIn(data).map((method) => {
    const x = [];
    const y = [];
    series.forEach((estimate, row) => {
      for (let begin = 0; begin < moments.length; begin++) {
        if (estimate.methods[begin] !== method) continue;
        let stop = begin;
        while (estimate.methods[stop + 1] === method) stop++;
        x.push(wallClock(new Date(moments[begin] - half)), wallClock(new Date(moments[stop] + half)), null);
        y.push(row, row, null);
        begin = stop;
      }
    });
    const {series: number, dash} = methodStyle(method);
    return {type: "scatter", name: asText(method), meta: `method ${method}`, x, y, yaxis: "y2", mode: "lines", hoverinfo: "skip", line: {color: look.series[number], width: 7, dash, simplify: false}};
  });
}

// -- Scales ------------------------------------------------------------------------------------------------------------

// What the panel must show: values, bounds and limits that are in the range of time.
function valueRange(series, limits, view, log) {
  let [low, high] = [Infinity, -Infinity];
  const take = (value) => {
    if (value === null || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const estimate of series) {
    estimate.values.forEach((value, at) => {
      if (!inside(view, at)) return;
      take(value);
      // one wide interval must not flatten all the rest
      if (value !== null && estimate.high[at] !== null && estimate.high[at] < value * 20) take(estimate.high[at]);
      if (value !== null && estimate.low[at] !== null && (!log || estimate.low[at] > value / 20)) take(estimate.low[at]);
    });
  }
  for (const limit of limits) take(limit.value);
  if (low > high) return log ? [1, 1000] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.05, high * (high / low) ** 0.12];
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  return [low >= 0 ? 0 : low - room, high + room];
}

function shareRange(series, view) {
  const values = series.flatMap((estimate) => [...estimate.low, ...estimate.high].filter((value, at) => value !== null && inside(view, at % view.moments.length)));
  if (values.length === 0) return {range: [0, 1]};
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((high - low) * 0.15, 0.0005);
  return {range: [low - room, high + room]};
}

// -- Limits ------------------------------------------------------------------------------------------------------------

function limitTraces(limits, series, edges) {
  return limits.map((limit) => {
    const estimate = series.find((one) => one.name === limit.estimate);
    return {
      type: "scatter", name: asText(limit.rule), meta: `limit ${limit.rule}`, x: edges, y: [limit.value, limit.value], mode: "lines", hoverinfo: "skip",
      line: {color: estimate.colour, width: 1.4, dash: "5px,4px"},
    };
  });
}

// One label for limits of the same height; the side of the line that is wrong is where the sign points.
function limitLabels(limits, series, shown, look) {
  const byValue = Map.groupBy(limits, (limit) => limit.value);
  return [...byValue].map(([value, same]) => {
    const estimate = series.find((one) => one.name === same[0].estimate);
    const said = [...new Set(same.map((limit) => `${limit.rule}: ${series.find((one) => one.name === limit.estimate).title} ${limit.operator} ${short(value, estimate.unit)}`))];
    return {
      xref: "paper", x: 0, xanchor: "left", yref: "y", y: shown.log ? Math.log10(value) : value, yanchor: "bottom", showarrow: false,
      text: asText(said.join(", ")), font: {size: 11, color: estimate.colour}, bgcolor: translucent(look.paper, 0.88), borderpad: 1, align: "left",
    };
  });
}

// -- Alerts ------------------------------------------------------------------------------------------------------------

function visible(span, view) {
  return span.to >= view.from && span.from <= view.to;
}

function spanShapes(spans, view, look) {
  return spans.filter((span) => visible(span, view)).map((span) => {
    const colour = span.state === "firing" ? look.bad : look.warn;
    return {
      type: "rect", name: `alert ${span.state}`, xref: "x", yref: "y domain", x0: wallClock(new Date(span.from)), x1: wallClock(new Date(span.to)), y0: 0, y1: 1, layer: "below",
      fillcolor: translucent(colour, span.state === "firing" ? 0.13 : 0.08), line: {color: translucent(colour, 0.75), width: 1, dash: span.state === "firing" ? "solid" : "2px,3px"},
    };
  });
}

// Labels stand in lanes from the top, so that no two are on each other.
function spanLabels(spans, view, shown) {
  const lanes = [];
  const perMs = Math.max(shown.width - 110, 100) / Math.max(view.to - view.from, 1);
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
      xref: "x", x: wallClock(new Date(view.from + left / perMs)), xanchor: "left", yref: "y domain", y: 1, yanchor: "top", yshift: -lane * 17 - 1, showarrow: false,
      text: asText(text), font: {size: 11, color: span.state === "firing" ? shown.look.bad : shown.look.warn}, bgcolor: translucent(shown.look.paper, 0.82), borderpad: 1,
    });
  }
  return labels;
}

// -- Words in the picture ----------------------------------------------------------------------------------------------

function atShape(shown, look) {
  if (!shown.at) return [];
  const x = wallClock(shown.at);
  return [{type: "line", name: "at", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: {color: look.link, width: 1.5, dash: "1px,2px"}}];
}

// Each line has its name at its right end, pushed apart where they would touch.
function endLabels(series, view, span, shown, domains) {
  const place = (value) => {
    const [low, high, own] = shown.log ? [Math.log10(span[0]), Math.log10(span[1]), Math.log10(value)] : [...span, value];
    return ((own - low) / (high - low)) * domains.tall;
  };
  const labels = [];
  for (const estimate of series) {
    const last = indices(estimate.values).findLast((at) => estimate.values[at] !== null && inside(view, at) && (!shown.log || estimate.values[at] > 0));
    if (last !== undefined) labels.push({estimate, at: place(estimate.values[last])});
  }
  labels.sort((one, other) => one.at - other.at);
  for (let round = 1; round < labels.length; round++) labels[round].at = Math.max(labels[round].at, labels[round - 1].at + 14);
  return labels.map(({estimate, at}) => ({
    xref: "paper", x: 1, xanchor: "left", xshift: 4, yref: "y domain", y: Math.min(Math.max(at / domains.tall, 0), 1), yanchor: "middle", showarrow: false,
    text: asText(estimate.title), font: {size: 12, color: estimate.colour},
  }));
}

function panelNames(domains, look, shares) {
  const named = [[domains.strip[1], "method of each estimate"], [domains.counts[1], "events in the window"], ...(shares ? [[domains.shares[1], "share of events"]] : [])];
  return named.map(([y, text]) => ({xref: "paper", x: 0, xanchor: "left", yref: "paper", y, yanchor: "bottom", yshift: 2, showarrow: false, text, font: {size: 11, color: look.soft}}));
}
