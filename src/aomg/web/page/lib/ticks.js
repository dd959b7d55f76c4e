// Where a time axis has its ticks: at round times of the viewer's clock. Axes of time count milliseconds since 1970, as
// that clock goes back by an hour once a year, and a line must not.

import {offset} from "./format.js";

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
const minutes = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const seconds = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const parts = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 1, hourCycle: "h23"});
const days = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});

// [{at, text}] between two times in milliseconds, at most `most`. At midnight the text is the day.
export function timeTicks(first, last, most) {
  const {step, times} = roundTimes(first, last, most);
  return times.map((at) => ({at, text: step >= DAY || isMidnight(at) ? days.format(at) : clock(at, step)}));
}

// {tickvals, ticktext} of an axis that is `width` pixels long: beneath the first tick, and where it is another, the day
// (of days, the year); and where the clock is set back or forward in between, by how much it differs from UTC.
export function timeAxis(first, last, width) {
  const {step, times} = roundTimes(first, last, Math.max(4, Math.floor(width / 110)));
  const [above, beneath] = step >= DAY ? [(at) => days.format(at), year] : [(at) => clock(at, step), (at) => days.format(at)];
  const moved = shiftAt(first) !== shiftAt(last);
  const ticktext = times.map((at, place) => {
    const before = place > 0 ? times[place - 1] : null;
    const day = before === null || beneath(before) !== beneath(at) ? beneath(at) : "";
    const zone = moved && (before === null || shiftAt(before) !== shiftAt(at)) ? offset(new Date(at)) : "";
    const under = [day, zone].filter(Boolean).join(", ");
    return under === "" ? above(at) : `${above(at)}<br>${under}`;
  });
  return {tickvals: times, ticktext};
}

function roundTimes(first, last, most) {
  const step = STEPS.find((one) => (last - first) / one <= most) ?? Math.ceil((last - first) / most / DAY) * DAY;
  let shift = shiftAt(first);
  const times = [];
  for (let at = Math.ceil((first + shift) / step) * step - shift; at <= last; at += step) {
    const now = shiftAt(at);
    // the clock was set back or forward: go on from the round time that is next to this one
    if (now !== shift) at = Math.round((at + now) / step) * step - now;
    shift = now;
    if (at <= last) times.push(at);
  }
  return {step, times};
}

// By how much the viewer's clock is before UTC, in milliseconds.
function shiftAt(at) {
  return -new Date(at).getTimezoneOffset() * MINUTE;
}

function clock(at, step) {
  return (step >= MINUTE ? minutes : at % 1000 === 0 ? seconds : parts).format(at);
}

function year(at) {
  return String(new Date(at).getFullYear());
}

function isMidnight(at) {
  const date = new Date(at);
  return date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
}
