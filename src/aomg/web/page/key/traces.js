// The traces of a key's figure: quantiles with intervals, bursts, methods, limits. Times are milliseconds since 1970.

import {inside} from "./panels.js";
import {methodsIn, methodStyle, translucent} from "./styles.js";
import {asText} from "../lib/plot.js";

// low..high as one polygon per stretch without a gap. floor: what a logarithmic axis shows instead of 0 and below.
export function band(estimate, moments, yaxis, floor) {
  const x = [];
  const y = [];
  const drawable = (index) => estimate.low[index] !== null && estimate.high[index] !== null && (floor === null || estimate.high[index] > 0);
  for (let begin = 0; begin < moments.length; begin++) {
    if (!drawable(begin)) continue;
    let stop = begin;
    while (stop < moments.length && drawable(stop)) stop++;
    const low = (index) => (floor === null ? estimate.low[index] : Math.max(estimate.low[index], floor));
    for (let index = begin; index < stop; index++) { x.push(moments[index]); y.push(estimate.high[index]); }
    for (let index = stop - 1; index >= begin; index--) { x.push(moments[index]); y.push(low(index)); }
    x.push(moments[begin], null);
    y.push(estimate.high[begin], null);
    begin = stop;
  }
  return [{
    type: "scatter", name: estimate.title, meta: `band ${estimate.name}`, x, y, yaxis, mode: "lines", fill: "toself", hoverinfo: "skip",
    fillcolor: translucent(estimate.colour, 0.24), line: {width: 0.6, color: translucent(estimate.colour, 0.5), simplify: false}, connectgaps: false,
  }];
}

export function line(estimate, moments, yaxis) {
  const {values} = estimate;
  // a point between two gaps has no line: draw a dot
  const lonely = values.map((value, index) => value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null);
  const dots = lonely.some(Boolean);
  return {
    type: "scatter", name: estimate.title, meta: `line ${estimate.name}`, x: moments, y: values, yaxis, mode: dots ? "lines+markers" : "lines", hoverinfo: "none",
    line: {color: estimate.colour, width: estimate.width, dash: estimate.dash}, customdata: indices(moments), connectgaps: false,
    ...(dots ? {marker: {size: lonely.map((alone) => (alone ? 5 : 0)), color: estimate.colour}} : {}),
  };
}

// Bursts as diamonds on the highest line. Those that at least half of all keys have at once are small and open.
export function bursts(data, highest, view, look) {
  if (!highest) return [];
  const {moments} = view;
  const all = indices(moments).filter((index) => data.bursts[index] && highest.values[index] !== null);
  const many = all.filter((index) => inside(view, index)).length;
  const trace = (name, marked, marker) => ({
    type: "scatter", name, meta: name, mode: "markers", hoverinfo: "skip", yaxis: highest.unit === "share" ? "y4" : "y",
    x: marked.map((index) => moments[index]), y: marked.map((index) => highest.values[index]), marker,
  });
  const shared = all.filter((index) => data.shared_bursts?.[index]);
  const own = all.filter((index) => !data.shared_bursts?.[index]);
  return [
    trace("burst", own, {symbol: "diamond", size: many > 120 ? 4 : many > 40 ? 6 : 9, color: many > 40 ? look.series[3] : look.paper, line: {color: look.series[3], width: many > 40 ? 0 : 1.8}}),
    trace("shared burst", shared, {symbol: "diamond-open", size: many > 40 ? 4 : 6, color: look.series[3], opacity: 0.7, line: {width: 1}}),
  ];
}

// One trace per method, with a bar for each run of points with that method.
export function strip(data, series, moments, look) {
  const half = typical(moments) / 2;
  return methodsIn(data).map((method) => {
    const x = [];
    const y = [];
    series.forEach((estimate, row) => {
      for (let begin = 0; begin < moments.length; begin++) {
        if (estimate.methods[begin] !== method) continue;
        let stop = begin;
        while (estimate.methods[stop + 1] === method) stop++;
        x.push(moments[begin] - half, moments[stop] + half, null);
        y.push(row, row, null);
        begin = stop;
      }
    });
    const {series: number, dash} = methodStyle(method);
    return {type: "scatter", name: asText(method), meta: `method ${method}`, x, y, yaxis: "y2", mode: "lines", hoverinfo: "skip", line: {color: look.series[number], width: 7, dash, simplify: false}};
  });
}

// Rules are dashed in the colour of their quantile; targets are dotted and grey.
export function limitTraces(limits, series, edges, look) {
  return limits.map((limit) => {
    const estimate = series.find((one) => one.name === limit.estimate);
    const isTarget = limit.kind === "target";
    return {
      type: "scatter", name: asText(limit.rule), meta: `${isTarget ? "target" : "limit"} ${limit.rule}`, x: edges, y: [limit.value, limit.value], mode: "lines", hoverinfo: "skip",
      line: isTarget ? {color: look.soft, width: 1.2, dash: "1px,4px"} : {color: estimate.colour, width: 1.4, dash: "5px,4px"},
    };
  });
}

// The median distance between points.
function typical(moments) {
  const steps = moments.slice(1).map((moment, index) => moment - moments[index]).filter((step) => step > 0).sort((a, b) => a - b);
  return steps.length ? steps[Math.floor(steps.length / 2)] : 60000;
}

function indices(list) {
  return list.map((_, index) => index);
}
