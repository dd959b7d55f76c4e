// The histogram of one window of a key, with its quantiles; the area of a bar is its number of events.

import {Failure} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {asText, draw, look} from "../lib/plot.js";
import {scaled} from "../lib/scales.js";
import {quantity, sentence, share, timeWithUtc, unrounded, whole} from "../lib/format.js";

const BARS = 90;
const HINT = "Hover over a bar to see its events.";

// Adds a histogram to place; {show(answer or Failure, lines, unit, csv), close()}. lines: [{title, value, colour, dash}];
// csv: the address of the CSV download.
export function histogramPanel(place) {
  const download = element("a", {class: "small end", download: true, hidden: true}, "CSV");
  const caption = element("p", {class: "soft small caption"});
  const plot = element("div", {class: "plot", role: "img", tabindex: "0"});
  const readout = element("p", {class: "readout small", "aria-live": "polite"});
  place.append(element("div", {class: "head"}, element("h2", {id: "histogram-title"}, "Histogram of the window"), download), caption, plot, readout);
  let drawn = null;
  let drawing = null;
  let now = null;

  async function show(answer, lines, unit, csv) {
    const missing = answer instanceof Failure;
    plot.hidden = readout.hidden = missing;
    mark(download, "hidden", missing);
    mark(download, "href", missing ? null : csv);
    if (missing) {
      caption.replaceChildren(element("strong", null, sentence(answer.message)), " ", sentence(answer.whatToDo));
      return;
    }
    const {bars, left} = merged(answer.buckets);
    now = {answer, lines: lines.filter((line) => line.value !== null && line.value !== undefined), bars, unit, left};
    const rest = left === 0 ? "" : ` ${whole(left)} of them are 0 or below and not shown: the axis is logarithmic.`;
    caption.replaceChildren(`${whole(answer.count)} events in the window that ended ${timeWithUtc(answer.end)}.${rest} The area of a bar is its number of events.`);
    plot.setAttribute("aria-label", spoken(now));
    drawing ??= draw(plot, () => figure(now, plot.clientWidth)).then((handle) => {
      drawn = handle;
      plot.on("plotly_hover", ({points}) => say(points[0]?.customdata));
      plot.on("plotly_unhover", () => (chosen === null ? write(readout, HINT) : say(barAt(chosen))));
      write(readout, HINT);
    });
    if (drawn !== null) await drawn.update();
    else await drawing;
    if (chosen !== null) say(barAt(chosen));
  }

  function say(index) {
    const bar = now.bars[index];
    if (bar === undefined) return;
    const below = now.bars.slice(0, index + 1).reduce((sum, one) => sum + one.count, now.left);
    write(readout, `${quantity(bar.low, now.unit)} to ${quantity(bar.high, now.unit)}: ${whole(bar.count)} events (${share(bar.count / now.answer.count)}); ${share(below / now.answer.count)} of all events are below ${quantity(bar.high, now.unit)}`);
  }

  let chosen = null; // a value in the bar that the keyboard selected: bars change as windows arrive

  function barAt(value) {
    const index = now.bars.findIndex((bar) => value < bar.high);
    return index < 0 ? now.bars.length - 1 : index;
  }

  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step === undefined || now === null) return;
    event.preventDefault();
    const index = Math.min(Math.max((chosen === null ? -1 : barAt(chosen)) + step, 0), now.bars.length - 1);
    chosen = (now.bars[index].low + now.bars[index].high) / 2;
    say(index);
  });
  plot.addEventListener("blur", () => {
    chosen = null;
  });

  return {
    show,
    close() {
      drawing?.then(() => drawn.close());
    },
  };
}

// Merges neighbouring buckets until a bar is 1/90 of the figure wide: edges and counts stay exact. {bars, left}: left is
// the number of events at 0 or below if the axis is logarithmic; bars.log says whether it is.
export function merged(buckets) {
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const under = buckets.filter((bucket) => bucket.low <= 0).reduce((sum, bucket) => sum + bucket.count, 0);
  const log = under * 2 < total;
  const positive = log ? buckets.filter((bucket) => bucket.low > 0) : buckets;
  const place = log ? Math.log10 : (value) => value;
  const bars = [];
  bars.log = log;
  if (positive.length === 0) return {bars, left: 0};
  const least = Math.max((place(positive.at(-1).high) - place(positive[0].low)) / BARS, log ? 0.004 : 1e-9);
  let bar = null;
  for (const {low, high, count} of positive) {
    const full = bar !== null && place(bar.high) - place(bar.low) >= least * 0.999;
    const apart = bar !== null && place(low) - place(bar.high) > least / 2;
    if (bar === null || full || apart) bars.push((bar = {low, high, count}));
    else {
      bar.high = high;
      bar.count += count;
    }
  }
  for (const one of bars) one.height = one.count / Math.max((place(one.high) - place(one.low)) / least, 0.2);
  return {bars, left: log ? under : 0};
}

function figure({bars, lines, unit}, width) {
  const colours = look();
  const {log} = bars;
  const ends = [bars[0].low, bars.at(-1).high, ...lines.map((line) => line.value).filter((value) => !log || value > 0)];
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const margin = log ? (high / low) ** 0.02 : (high - low) * 0.02;
  const span = log ? [low / Math.max(margin, 1.01), high * Math.max(margin, 1.01)] : [low - margin, high + margin];
  const top = Math.max(...bars.map((bar) => bar.height));
  const axis = scaled(span, log, unit, Math.max(width / 2.5, 120));
  const marks = lines.filter((line) => !log || line.value > 0);
  return {
    data: [
      {
        type: "bar", meta: "bars", name: "events", x: bars.map((bar) => (bar.low + bar.high) / 2), width: bars.map((bar) => bar.high - bar.low),
        y: bars.map((bar) => bar.height), customdata: bars.map((_, index) => index), text: bars.map((bar) => String(bar.count)), textposition: "none", hoverinfo: "none",
        marker: {color: colours.series[1], opacity: 0.55, line: {width: 0}},
      },
      ...marks.map((line) => ({
        type: "scatter", meta: `line ${line.name}`, mode: "lines", x: [line.value, line.value], y: [0, top * 1.02], hoverinfo: "skip", name: asText(line.title),
        line: {color: line.colour, width: 2, dash: line.dash},
      })),
    ],
    layout: {
      showlegend: false, hovermode: "closest", dragmode: false, bargap: 0, height: 250, margin: {l: 8, r: 22, t: 30, b: 8},
      xaxis: {type: log ? "log" : "linear", fixedrange: true, showgrid: false, ...axis},
      yaxis: {range: [0, top * 1.06], fixedrange: true, showticklabels: false, ticks: "", showline: false, showgrid: false, zeroline: false, rangemode: "tozero"},
      annotations: names(marks, span, log, width),
    },
  };
}

// The quantiles' names above their lines, in a second row where two would overlap.
function names(lines, span, log, width) {
  const place = (value) => (log ? Math.log10(value) : value);
  const perUnit = (width - 16) / (place(span[1]) - place(span[0]));
  const rows = [-Infinity, -Infinity];
  return [...lines].sort((one, other) => one.value - other.value).map((line) => {
    const centre = place(line.value) * perUnit;
    const half = line.title.length * 3.6 + 3;
    const row = centre - half > rows[0] ? 0 : 1;
    rows[row] = centre + half;
    return {
      xref: "x", x: place(line.value), yref: "paper", y: 1, yanchor: "bottom", yshift: row * 14, showarrow: false, text: asText(line.title), font: {size: 12, color: line.colour},
    };
  });
}

function spoken({answer, lines, unit}) {
  const quantiles = lines.map((line) => `${line.title} at ${unrounded(line.value, unit)}`).join(", ");
  return `Histogram of ${whole(answer.count)} events${quantiles ? ` with ${quantiles}` : ""}; arrow keys move between bars`;
}
