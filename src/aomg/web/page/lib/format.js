// Formats numbers and times: units, three digits, intervals rounded outwards, the viewer's time zone and UTC.

import {element} from "./element.js";

// Nanoseconds. Whole numbers, so that a change of the unit is exact.
const UNITS = {us: 1000, ms: 1e6, s: 1e9};
// name, length, and the smallest value shown in that unit: from 1 up to seconds, from 2 for minutes, hours and days
const STEPS = [["ns", 1, 1], ["µs", 1000, 1000], ["ms", 1e6, 1e6], ["s", 1e9, 1e9], ["min", 6e10, 12e10], ["h", 36e11, 72e11], ["d", 864e11, 1728e11]];
const SECONDS_AND_LESS = STEPS.slice(0, 4);
const AS_IT_IS = [1, 1];
const NOTHING = "–";
// The API rounds the ends of an interval outwards to seven digits: those of an exact number are at most this far apart.
const SEVEN_DIGITS = 2.1e-6;
// Arithmetic of rules rounds outwards: a few doubles between the ends. Their decimals would have seventeen digits.
const ROUNDING = 1e-14;
const MOST_DIGITS = 7;

// -- Numbers with an interval ------------------------------------------------------------------------------------------

// The texts of a value and its interval: {value, low, high, places}. The rule is that of src/aomg/numbers.py, to the same
// characters: value, low and high have the same decimals, low is rounded down and high up, and the value is the nearest
// number with these decimals in low..high; if there is none, there are more decimals.
// scale: numerator and denominator that numbers are multiplied with.
export function shown(value, low, high, {digits = 3, scale = AS_IT_IS, padded = true, grouped = true, missing = NOTHING} = {}) {
  const parts = [value, low, high].map(decimal);
  const power = Math.min(...parts.filter((part) => part !== null).map((part) => part.power), 0);
  const [middle, bottom, top] = parts.map((part) => (part === null ? null : part.number * ten(part.power - power)));
  const decimals = new Decimals(middle || larger(bottom ?? 0n, top ?? 0n), power, scale);
  let places = decimals.places(digits);
  const text = (units) => (units === null ? missing : decimals.text(units, places, padded, grouped));
  let units = null;
  if (middle !== null && bottom === middle && middle === top) {
    [units, places] = decimals.oneNumber(middle, places);
    return {value: text(units), low: text(units), high: text(units), places};
  }
  if (bottom !== null && top !== null && decimals.isCoarse(middle ?? bottom, bottom, top, places)) places += 1;
  if (middle !== null) [units, places] = decimals.inside(middle, bottom, top, places);
  return {
    value: text(units), low: text(bottom === null ? null : decimals.down(bottom, places)), high: text(top === null ? null : decimals.up(top, places)), places,
  };
}

// Numbers n * 10^power * scale, rounded to decimal places. Exact: computed in integers.
class Decimals {
  #main;
  #power;
  #scale;
  #order;
  #exponential;

  // main: the number whose size decides the number of places.
  constructor(main, power, scale) {
    this.#main = main < 0n ? -main : main;
    this.#power = power;
    this.#scale = scale.map(BigInt);
    this.#order = this.#orderOfMain();
    this.#exponential = this.#order < -6 || this.#order > 11;
  }

  // The places that give the main number these digits, after rounding: 0.9996 is 1.00.
  places(digits) {
    if (this.#main === 0n) return 0;
    let places = digits - 1 - this.#order;
    if (this.nearest(this.#main, places) >= ten(digits)) places -= 1;
    return this.#exponential ? places : Math.max(places, 0);
  }

  // In units of the last place; halves away from zero.
  nearest(number, places) {
    const [above, below] = this.#inUnits(number, places);
    return (2n * above + (number < 0n ? -below : below)) / (2n * below);
  }

  // The largest number of units that is not above.
  down(number, places) {
    const [above, below] = this.#inUnits(number, places);
    return above / below - (above % below < 0n ? 1n : 0n);
  }

  // The smallest number of units that is not below.
  up(number, places) {
    return -this.down(-number, places);
  }

  // Whether one unit of the last place is more than half of the interval, and rounding changes a number.
  isCoarse(value, low, high, places) {
    const [above, below] = this.#inUnits(high - low, places);
    return above < 2n * below && [value, low, high].some((number) => this.down(number, places) !== this.up(number, places));
  }

  // The units nearest to a value that lie between low and high, with these places or more.
  inside(value, low, high, places) {
    if (low !== null && high !== null && low <= value && value <= high) {
      while (this.up(low, places) > this.down(high, places)) places += 1; // low < high: there is some such number
    }
    let units = this.nearest(value, places);
    if (low !== null && low <= value && units < this.up(low, places)) units = this.up(low, places);
    if (high !== null && value <= high && units > this.down(high, places)) units = this.down(high, places);
    return [units, places];
  }

  // A number in units of the last place, and the places: the most digits, without trailing zeros.
  oneNumber(number, places) {
    let more = Math.max(places, this.places(MOST_DIGITS));
    let units = this.nearest(number, more);
    for (; more > places && units % 10n === 0n; more -= 1) units /= 10n;
    return [units, more];
  }

  // A number of units of the last place as a text.
  text(units, places, padded, grouped) {
    let digits = String(units < 0n ? -units : units);
    let [point, end] = [1, ""];
    if (this.#exponential) {
      const order = digits.length - 1 - places;
      if (units !== 0n) end = `e${order < 0 ? "" : "+"}${order}`;
    } else {
      digits = digits.padStart(places + 1, "0");
      point = digits.length - places;
    }
    const whole = grouped ? digits.slice(0, point).replace(/\B(?=(\d{3})+$)/g, ",") : digits.slice(0, point);
    const rest = padded ? digits.slice(point) : digits.slice(point).replace(/0+$/, "");
    return (units < 0n ? "-" : "") + whole + (rest === "" ? "" : `.${rest}`) + end;
  }

  // A number in units of the last place, as a numerator and a denominator.
  #inUnits(number, places) {
    const power = this.#power + places;
    return [number * this.#scale[0] * ten(Math.max(power, 0)), this.#scale[1] * ten(Math.max(-power, 0))];
  }

  // The power of ten of the first digit: 0 for 1 to 9.99.
  #orderOfMain() {
    if (this.#main === 0n) return 0;
    const [above, below] = this.#inUnits(this.#main, 0);
    const order = String(above).length - String(below).length;
    return above * ten(Math.max(-order, 0)) >= below * ten(Math.max(order, 0)) ? order : order - 1;
  }
}

// The decimal of a number: digits and a power of ten; null if it is not finite.
function decimal(number) {
  if (!Number.isFinite(number)) return null;
  const [digits, power = "0"] = String(number).split("e");
  const [whole, rest = ""] = digits.split(".");
  return {number: BigInt(whole + rest), power: Number(power) - rest.length};
}

const ten = (power) => 10n ** BigInt(power);

function larger(one, other) {
  const [first, second] = [one, other].map((number) => (number < 0n ? -number : number));
  return first > second ? first : second;
}

// -- Quantities --------------------------------------------------------------------------------------------------------

// The unit to show a number in: {name, scale}, for shown().
export function unitOf(number, unit, steps = STEPS) {
  if (unit === "share") return {name: "%", scale: [100, 1]};
  const own = UNITS[unit];
  if (own === undefined) return {name: unit ?? "", scale: AS_IT_IS};
  const size = Math.abs(number) * own;
  if (size === 0) return {name: unit === "us" ? "µs" : unit, scale: AS_IT_IS};
  const [name, length] = steps.findLast(([, , least]) => size >= least * 0.9995) ?? steps[0];
  return {name, scale: [own, length]};
}

// A value with its interval in the best unit for the value: {value: "4.213 ms", interval: "4.210..4.219 ms", bounds:
// "4.210..4.219"}. The interval is "exact" if both ends are equal, and "" if it is unknown or narrower than doubles can
// show. bounds: without the unit, to stand right after the value.
// method: that of the API. It is "exact" where the ends were equal before they were rounded.
export function estimate(value, low, high, unit = null, method = "") {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return {value: quantity(value, unit), interval: "", bounds: ""};
  const exact = low === high || method === "exact";
  const one = exact || high - low <= ROUNDING * Math.max(Math.abs(low), Math.abs(high));
  const ends = one && Number.isFinite(value) ? [value, value] : [low, high];
  const texts = inUnit(value, ...ends, unit);
  const bounds = exact ? "exact" : one ? "" : `${texts.low}..${texts.high}`;
  return {value: texts.value, interval: exact || one || texts.name === "" ? bounds : `${bounds}\u00a0${texts.name}`, bounds};
}

// 4213 us is "4.21 ms"; 1234567 without a unit is "1,234,567"; 0.98234 of a share is "98.2 %". For values without interval.
export function quantity(number, unit = null) {
  return inUnit(number, null, null, unit).value;
}

// A value without its interval, with all its digits: rounding could move it outside of the interval.
export function unrounded(number, unit = null) {
  return inUnit(number, number, number, unit).value;
}

function inUnit(value, low, high, unit) {
  const main = value || Math.max(Math.abs(low ?? 0), Math.abs(high ?? 0));
  // close to 100 %, the last digits matter
  const digits = unit === "share" && main > 0.99 && main < 1 ? 4 : 3;
  let {name, scale} = unitOf(main, unit);
  let texts = shown(value, low, high, {digits, scale});
  // decimals of minutes, hours and days may never end
  if (["min", "h", "d"].includes(name) && texts.places > digits) {
    ({name, scale} = unitOf(main, unit, SECONDS_AND_LESS));
    texts = shown(value, low, high, {digits, scale});
  }
  return {...texts, name, value: Number.isFinite(value) && name !== "" ? `${texts.value}\u00a0${name}` : texts.value};
}

function plain(number) {
  return shown(number, null, null).value;
}

function fixed(number, places) {
  const part = decimal(number);
  if (part === null) return NOTHING;
  const decimals = new Decimals(0n, part.power, AS_IT_IS);
  return decimals.text(decimals.nearest(part.number, places), places, true, true);
}

// 0.98234 is "98.2 %".
export function share(number) {
  return quantity(number, "share");
}

// The width of an interval, relative to the value: 0.004 is "0.40 %".
export function width(relative, exact = relative <= SEVEN_DIGITS) {
  if (relative === null || relative === undefined) return NOTHING;
  const percent = relative * 100;
  if (exact) return "0\u00a0%";
  if (percent < 0.01) return "<0.01\u00a0%";
  if (percent >= 1000) return ">999\u00a0%";
  return `${fixed(percent, percent < 1 ? 2 : percent < 10 ? 1 : 0)}\u00a0%`;
}

export function whole(number) {
  return fixed(number, 0);
}

// As quantity, without trailing zeros: "2 ms". For ticks.
export function tick(number, unit = null) {
  return quantity(number, unit).replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

// 1234567 is "1.23 M": for narrow columns.
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

// Whether the viewer's time zone is UTC: then only one time is shown.
export const isUtc = ["UTC", "Etc/UTC", "Etc/GMT", "GMT", "Etc/UCT", "UCT", "Zulu"].includes(zone);

// "UTC+2" at a time: offsets change in summer.
export function offset(date = new Date()) {
  const minutes = -date.getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? "" : `:${String(size % 60).padStart(2, "0")}`;
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest}`;
}

// "09:15:30", with the day if it is not today.
export function time(text) {
  if (text === null || text === undefined) return NOTHING;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return String(text);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clock.format(date);
  return `${(date.getFullYear() === now.getFullYear() ? day : dayAndYear).format(date)}, ${clock.format(date)}`;
}

// "07:15:30 UTC", with the day if it differs from the viewer's.
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

// "09:15:30 to 09:17:30 (07:15:30 to 07:17:30 UTC)": the day is not repeated.
export function timeRange(first, last) {
  const [from, to] = [time(first), time(last)];
  const day = from.slice(0, from.lastIndexOf(" ") + 1);
  const both = `${from} to ${to.startsWith(day) ? to.slice(day.length) : to}`;
  return isUtc ? `${both} UTC` : `${both} (${utc(first).replace(" UTC", "")} to ${utc(last)})`;
}

// "15 min" of 14 min 45 s, for headings.
export function aboutDuration(seconds) {
  const unit = seconds >= 36000 ? 3600 : seconds >= 120 ? 60 : 1;
  return duration(Math.round(seconds / unit) * unit);
}

// "in 25 s" or "25 s ago", for times near the clock.
export function fromNow(text, now) {
  const seconds = Math.round((Date.parse(text) - Date.parse(now)) / 1000);
  return seconds >= 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

// Whether event times are those of the clock: in a replay of another day "15 s ago" would be wrong.
export function isNear(text, now) {
  return Math.abs(Date.parse(text) - Date.parse(now)) < 6 * 3600e3;
}

// A <time> element: the viewer's time, with UTC beside it, or (beside = false) as a tooltip.
export function when(text, beside = false) {
  if (text === null || text === undefined) return document.createTextNode(NOTHING);
  return element("time", {datetime: text, title: `${text} (UTC)`}, beside ? timeWithUtc(text) : time(text));
}

// -- Keys --------------------------------------------------------------------------------------------------------------

// {podset: "6", dc: null} is "6 · –"; with names "podset 6 · dc –".
export function keyText(key, names = false) {
  return Object.entries(key).map(([name, value]) => (names ? `${name} ${value ?? NOTHING}` : value === "" ? "“”" : value ?? NOTHING)).join(" · ") || "all";
}

// The unit of an estimate, for quantity() and estimate(): shares (below_500) are in percent.
export function unitFor(query, estimate) {
  const described = query?.estimates.find((one) => one.name === estimate);
  return described && described.quantile === null ? "share" : query?.unit ?? null;
}

// The default estimate: p99, or the highest quantile, or the first estimate; null if there is none.
export function defaultEstimate(query) {
  const quantiles = query.estimates.filter((one) => one.quantile !== null);
  return (quantiles.find((one) => one.name === "p99") ?? quantiles.at(-1) ?? query.estimates[0])?.name ?? null;
}

export function titleOf(query, estimate) {
  return query?.estimates.find((one) => one.name === estimate)?.title ?? estimate;
}

// "firing", "pending", "resolved", "burst": a shape and a word, not only a colour.
export function stateMark(state, word = state) {
  return element("span", {class: "mark", "data-state": state}, word);
}

// "Results are stale: no new results for 5 min." The time is left out if the reason has one.
export function staleTitle({seconds, because}) {
  const known = seconds === null || seconds === undefined || /\d/.test(because ?? "");
  return known ? "Results are stale." : `Results are stale: no new results for ${duration(seconds)}.`;
}

// A text as a sentence: with a capital letter and a full stop.
export function sentence(text) {
  const trimmed = String(text ?? "").trim();
  if (trimmed === "") return "";
  return (trimmed.charAt(0).toUpperCase() + trimmed.slice(1)).replace(/([^.!?])$/, "$1.");
}
