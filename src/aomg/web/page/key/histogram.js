// The histogram of one window of a key: bars whose area is their number of events, and the quantiles in it.

import {Failure} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {asText, draw, look} from "../lib/plot.js";
import {scaled} from "../lib/scales.js";
import {quantity, sentence, share, timeWithUtc, unrounded, whole} from "../lib/format.js";

const BARS = 90;
const HINT = "Point at a bar to see its events.";

// Puts a histogram into place; {show(answer or Failure, lines, unit, csv), close()}. lines: [{title, value, colour, dash}];
// csv: the address of the same as CSV.
export function histogramPanel(place) {
  const download = element("a", {class: "small end", download: true, hidden: true}, "CSV");
  const told = element("p", {class: "soft small told"});
  const plot = element("div", {class: "plot", role: "img", tabindex: "0"});
  const what = element("p", {class: "readout small", "aria-live": "polite"});
  place.append(element("div", {class: "head"}, element("h2", {id: "histogram-title"}, "Histogram of the window"), download), told, plot, what);
  let drawn = null;
  let drawing = null;
  let now = null;

  async function show(answer, lines, unit, csv) {
    const missing = answer instanceof Failure;
    plot.hidden = what.hidden = missing;
    mark(download, "hidden", missing);
    mark(download, "href", missing ? null : csv);
    if (missing) {
      told.replaceChildren(element("strong", null, sentence(answer.message)), " ", sentence(answer.whatToDo));
      return;
    }
    const {bars, left} = merged(answer.buckets);
    now = {answer, lines: lines.filter((line) => line.value !== null && line.value !== undefined), bars, unit, left};
    const rest = left === 0 ? "" : ` ${whole(left)} of them are 0 or less, which a logarithmic axis cannot show.`;
    told.replaceChildren(`${whole(answer.count)} events in the window that ended ${timeWithUtc(answer.end)}.${rest} The area of a bar is its number of events.`);
    plot.setAttribute("aria-label", spoken(now));
    drawing ??= draw(plot, () => figure(now, plot.clientWidth)).then((handle) => {
      drawn = handle;
      plot.on("plotly_hover", ({points}) => say(points[0]?.customdata));
      plot.on("plotly_unhover", () => (chosen === null ? write(what, HINT) : say(barAt(chosen))));
      write(what, HINT);
    });
    if (drawn !== null) await drawn.update();
    else await drawing;
    if (chosen !== null) say(barAt(chosen));
  }

  function say(at) {
    const bar = now.bars[at];
    if (bar === undefined) return;
    const below = now.bars.slice(0, at + 1).reduce((sum, one) => sum + one.count, now.left);
    write(what, `${quantity(bar.low, now.unit)} to ${quantity(bar.high, now.unit)}: ${whole(bar.count)} events (${share(bar.count / now.answer.count)}); ${share(below / now.answer.count)} are below ${quantity(bar.high, now.unit)}`);
  }

  let chosen = null; // a value in the bar that the keyboard chose: bars are others as windows come

  function barAt(value) {
    const found = now.bars.findIndex((bar) => value < bar.high);
    return found < 0 ? now.bars.length - 1 : found;
  }

  plot.addEventListener("keydown", (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (step === undefined || now === null) return;
    event.preventDefault();
    const at = Math.min(Math.max((chosen === null ? -1 : barAt(chosen)) + step, 0), now.bars.length - 1);
    chosen = (now.bars[at].low + now.bars[at].high) / 2;
    say(at);
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

// Neighbours together, until a bar is a ninetieth of the picture wide: edges and counts stay exact. {bars, left}: left
// is how many events lie at 0 or below, where the axis is logarithmic; bars.log says whether it is.
export function merged(buckets) {
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const under = buckets.filter((bucket) => bucket.low <= 0).reduce((sum, bucket) => sum + bucket.count, 0);
  const log = under * 2 < total;
  const kept = log ? buckets.filter((bucket) => bucket.low > 0) : buckets;
  const place = log ? Math.log10 : (value) => value;
  const bars = [];
  bars.log = log;
  if (kept.length === 0) return {bars, left: 0};
  const least = Math.max((place(kept.at(-1).high) - place(kept[0].low)) / BARS, log ? 0.004 : 1e-9);
  let bar = null;
  for (const {low, high, count} of kept) {
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
  const room = log ? (high / low) ** 0.02 : (high - low) * 0.02;
  const span = log ? [low / Math.max(room, 1.01), high * Math.max(room, 1.01)] : [low - room, high + room];
  const top = Math.max(...bars.map((bar) => bar.height));
  const axis = scaled(span, log, unit, Math.max(width / 2, 120));
  const marks = lines.filter((line) => !log || line.value > 0);
  return {
    data: [
      {
        type: "bar", meta: "bars", name: "events", x: bars.map((bar) => (bar.low + bar.high) / 2), width: bars.map((bar) => bar.high - bar.low),
        y: bars.map((bar) => bar.height), customdata: bars.map((_, at) => at), text: bars.map((bar) => String(bar.count)), textposition: "none", hoverinfo: "none",
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

// The quantiles' names over their lines, in a second row where two would touch.
function names(lines, span, log, width) {
  const place = (value) => (log ? Math.log10(value) : value);
  const perUnit = (width - 16) / (place(span[1]) - place(span[0]));
  const rows = [-Infinity, -Infinity];
  return [...lines].sort((one, other) => one.value - other.value).map((line) => {
    const at = place(line.value) * perUnit;
    const half = line.title.length * 3.6 + 3;
    const row = at - half > rows[0] ? 0 : 1;
    rows[row] = at + half;
    return {
      xref: "x", x: place(line.value), yref: "paper", y: 1, yanchor: "bottom", yshift: row * 14, showarrow: false, text: asText(line.title), font: {size: 12, color: line.colour},
    };
  });
}

function spoken({answer, lines, unit}) {
  const quantiles = lines.map((line) => `${line.title} at ${unrounded(line.value, unit)}`).join(", ");
  return `Histogram of ${whole(answer.count)} events${quantiles ? ` with ${quantiles}` : ""}; arrow keys go from bar to bar`;
}
