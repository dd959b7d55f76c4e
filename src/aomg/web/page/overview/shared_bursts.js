// Explains bursts that at least half of the keys have at the same time: one cause, which all of them share.

import {keyText, timeRange, timeWithUtc} from "../lib/format.js";

// A key that rose this many times as much as the next one is named.
const CLEARLY = 1.25;

// A text for the heat map; "" if no bursts are shared. data: the response of /api/heatmap.
export function sharedBursts(data) {
  const columns = data.shared_bursts;
  if (columns.length === 0) return "";
  const [first, last] = [data.ends[columns[0]], data.ends[columns.at(-1)]];
  const when = first === last ? `At ${timeWithUtc(first)}` : `From ${timeRange(first, last)}`;
  return ` ${when} at least half of all keys burst at once (◇): they share a cause${most(data, columns)}.`;
}

// Which key rose most in these columns, compared with its own usual value, if one stands out.
function most(data, columns) {
  const rises = data.values.map((values, row) => {
    const usual = median(values.filter((value, column) => value !== null && !columns.includes(column)));
    const highest = Math.max(...columns.map((column) => values[column] ?? -Infinity));
    return {row, rise: usual > 0 ? highest / usual : 0};
  }).sort((one, other) => other.rise - one.rise);
  const [top, next] = rises;
  if (!top || !Number.isFinite(top.rise) || top.rise < CLEARLY * Math.max(next?.rise ?? 0, 1)) return "";
  return `; ${keyText(data.keys[top.row], true)} rose most, to ${top.rise.toPrecision(2)} times its usual value`;
}

function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
