// How numbers and times are shown: with units, three digits, intervals rounded outwards, the viewer's zone and UTC.

import {element} from "./element.js";

const SECONDS = {us: 1e-6, ms: 1e-3, s: 1};
// below 1,000 of a unit it is shown in that unit
const STEPS = [["ns", 1e-9], ["µs", 1e-6], ["ms", 1e-3], ["s", 1], ["min", 60], ["h", 3600], ["d", 86400]];
const NOTHING = "–";
// The ends of an interval are told with seven digits, rounded outwards: those of one number are at most so far apart.
const SEVEN_DIGITS = 2.1e-6;

// In which unit a number is shown: {name, scale}; shown = number / scale.
export function unitOf(number, unit) {
  const own = SECONDS[unit];
  if (own === undefined) return {name: unit ?? "", scale: 1};
  const seconds = Math.abs(number) * own;
  if (seconds === 0) return {name: unit === "us" ? "µs" : unit, scale: 1};
  let chosen = STEPS[0];
  for (const step of STEPS) {
    const least = step[1] >= 60 ? (step[1] === 60 ? 120 : step[1] * 2) : step[1];
    if (seconds >= least * 0.9995) chosen = step;
  }
  return {name: chosen[0], scale: chosen[1] / own};
}

// How many decimals give three digits.
function decimals(number, digits = 3) {
  // of what it is rounded to: 0.9996 is 1.00
  const size = Math.abs(Number(number.toPrecision(digits)));
  if (size === 0 || !Number.isFinite(size)) return 0;
  return Math.min(Math.max(digits - 1 - Math.floor(Math.log10(size) + 1e-12), 0), 12);
}

const formats = new Map();
function fixed(number, places) {
  let format = formats.get(places);
  if (format === undefined) {
    format = new Intl.NumberFormat("en", {minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: true});
    formats.set(places, format);
  }
  return format.format(number);
}

// 4213 us is "4.21 ms"; 1234567 without a unit is "1,234,567"; 0.98234 of a share is "98.2 %".
export function quantity(number, unit = null) {
  if (number === null || number === undefined) return NOTHING;
  if (unit === "share") return share(number);
  const {name, scale} = unitOf(number, unit);
  const text = plain(number / scale);
  return name === "" ? text : `${text}\u00a0${name}`;
}

function plain(number) {
  const size = Math.abs(number);
  if (size >= 1e12 || (size > 0 && size < 1e-6)) return number.toExponential(2);
  return fixed(number, decimals(number));
}

// "4.20..4.23" in the unit in which the value is shown. The low end is rounded down and the high end up, so that what
// is shown holds too. "exact" where both ends are one number.
export function interval(value, low, high, unit = null) {
  if (low === null || high === null || low === undefined || high === undefined) return "";
  if (high - low <= SEVEN_DIGITS * Math.max(Math.abs(low), Math.abs(high))) return "exact";
  const share = unit === "share";
  const scale = share ? 0.01 : unitOf(value ?? high, unit).scale;
  const [bottom, top] = [low / scale, high / scale];
  const size = Math.max(Math.abs(bottom), Math.abs(top));
  if (size >= 1e12 || size < 1e-6) return `${bottom.toExponential(2)}..${top.toExponential(2)}`;
  let places = decimals(share ? 100 : (value ?? high) / scale);
  // a narrow interval gets a digit more, rather than look much wider than it is
  if (10 ** -places > 0.5 * (top - bottom)) places += 1;
  return `${fixed(down(bottom, places), places)}..${fixed(-down(-top, places), places)}`;
}

function down(number, places) {
  const step = 10 ** places;
  const near = Math.round(number * step);
  // a number that has no more digits than shown stays, whatever its last bit is
  return (Math.abs(near / step - number) <= 1e-12 * Math.abs(number) ? near : Math.floor(number * step)) / step;
}

// 0.98234 is "98.2 %".
export function share(number) {
  if (number === null || number === undefined) return NOTHING;
  const percent = number * 100;
  return `${fixed(percent, percent === 0 || percent === 100 ? 0 : percent > 99 || percent < 1 ? 2 : 1)}\u00a0%`;
}

// The width of an interval, relative to the value: 0.004 is "0.40 %".
export function width(relative) {
  if (relative === null || relative === undefined) return NOTHING;
  const percent = relative * 100;
  if (relative <= SEVEN_DIGITS) return "0\u00a0%";
  if (percent < 0.01) return "<0.01\u00a0%";
  if (percent >= 1000) return ">999\u00a0%";
  return `${fixed(percent, percent < 1 ? 2 : percent < 10 ? 1 : 0)}\u00a0%`;
}

export function whole(number) {
  return number === null || number === undefined ? NOTHING : fixed(number, 0);
}

// As quantity, without zeros at the end: "2 ms". For ticks.
export function tick(number, unit = null) {
  return quantity(number, unit).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

// 1234567 is "1.23 M": for narrow places.
export function brief(number) {
  if (number === null || number === undefined) return NOTHING;
  for (const [size, name] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(number) >= size) return `${plain(number / (name === "k" ? 1e3 : size))}\u00a0${name}`;
  }
  return Math.abs(number) >= 1000 || Number.isInteger(number) ? whole(number) : plain(number);
}

export function bytes(number) {
  if (number === null || number === undefined) return NOTHING;
  for (const [size, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (number >= size) return `${plain(number / size)}\u00a0${name}`;
  }
  return `${whole(number)}\u00a0B`;
}

// 340 is "5 min 40 s"; 0.012 is "12.0 ms".
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NOTHING;
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? "−" : "";
  if (size < 60) return sign + (size >= 1 && Number.isInteger(size) ? `${size}\u00a0s` : quantity(size, "s"));
  let left = Math.round(size);
  const parts = [];
  for (const [length, name] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    const many = Math.floor(left / length);
    left -= many * length;
    if (many > 0) parts.push(`${many}\u00a0${name}`);
    else if (parts.length > 0) break;
  }
  return sign + parts.slice(0, 2).join(" ");
}

// -- Times -------------------------------------------------------------------------------------------------------------

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});
const dayAndYear = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", year: "numeric"});
const utcClock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: "UTC"});
const utcDay = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short", timeZone: "UTC"});

// The viewer's clock never differs from UTC: then there is no need to show both.
export const isUtc = ["UTC", "Etc/UTC", "Etc/GMT", "GMT", "Etc/UCT", "UCT", "Zulu"].includes(zone);

// "UTC+2" at a time: zones change in summer.
export function offset(date = new Date()) {
  const minutes = -date.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? "" : `:${String(size % 60).padStart(2, "0")}`;
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest}`;
}

// "09:15:30", with the day where it is not today's.
export function time(text) {
  if (text === null || text === undefined) return NOTHING;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clock.format(date);
  return `${(date.getFullYear() === now.getFullYear() ? day : dayAndYear).format(date)}, ${clock.format(date)}`;
}

// "07:15:30 UTC", with the day where it differs from the viewer's.
export function utc(text) {
  if (text === null || text === undefined) return "";
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  const other = utcDay.format(date) === day.format(date) ? "" : `${utcDay.format(date)}, `;
  return `${other}${utcClock.format(date)} UTC`;
}

// "09:15:30 (07:15:30 UTC)"; in UTC "07:15:30 UTC".
export function timeWithUtc(text) {
  if (text === null || text === undefined) return NOTHING;
  return isUtc ? `${time(text)} UTC` : `${time(text)} (${utc(text)})`;
}

// A <time> element: the viewer's time, with UTC beside it, or (beside = false) when pointed at.
export function when(text, beside = false) {
  if (text === null || text === undefined) return document.createTextNode(NOTHING);
  return element("time", {datetime: text, title: `${text} (UTC)`}, beside ? timeWithUtc(text) : time(text));
}

// -- Keys --------------------------------------------------------------------------------------------------------------

// {podset: "6", dc: null} is "6 · –"; with names "podset 6 · dc –".
export function keyText(key, names = false) {
  return Object.entries(key).map(([name, value]) => (names ? `${name} ${value ?? NOTHING}` : value === "" ? "“”" : value ?? NOTHING)).join(" · ") || "all";
}

// The unit in which quantity() and interval() show an estimate of a query: shares (below_500) have none of their own.
export function unitFor(query, estimate) {
  const found = query?.estimates.find((one) => one.name === estimate);
  return found && found.quantile === null ? "share" : query?.unit ?? null;
}

// What is looked at unless something else is asked: p99, or the highest quantile, or the first estimate; null without any.
export function usualEstimate(query) {
  const quantiles = query.estimates.filter((one) => one.quantile !== null);
  return (quantiles.find((one) => one.name === "p99") ?? quantiles.at(-1) ?? query.estimates[0])?.name ?? null;
}

export function titleOf(query, estimate) {
  return query?.estimates.find((one) => one.name === estimate)?.title ?? estimate;
}

// "firing", "pending", "resolved", "burst": a shape and a word, so that no colour is needed.
export function stateMark(state, word = state) {
  return element("span", {class: "mark", "data-state": state}, word);
}
