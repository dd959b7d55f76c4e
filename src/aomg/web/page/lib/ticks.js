// Ticks of time axes, at round times of the viewer's clock. Axes use milliseconds since 1970, because local time goes
// back by an hour once a year, and a line must not.

import {offset} from "./format.js";

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
const minutes = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const seconds = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const parts = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 1, hourCycle: "h23"});
const days = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});

// [{time, text}] between two times in milliseconds, at most `most`. At midnight the text is the day.
export function timeTicks(first, last, most) {
  const {step, times} = roundTimes(first, last, most);
  return times.map((time) => ({time, text: step >= DAY || isMidnight(time) ? days.format(time) : clock(time, step)}));
}

// {tickvals, ticktext} of an axis that is `width` pixels long. Below the first tick, and where the day changes, is the day
// (below days, the year); if the clock changes in between, also the offset from UTC.
export function timeAxis(first, last, width) {
  const {step, times} = roundTimes(first, last, Math.max(4, Math.floor(width / 110)));
  const [above, beneath] = step >= DAY ? [(time) => days.format(time), year] : [(time) => clock(time, step), (time) => days.format(time)];
  const moved = shiftAt(first) !== shiftAt(last);
  const ticktext = times.map((time, place) => {
    const before = place > 0 ? times[place - 1] : null;
    const day = before === null || beneath(before) !== beneath(time) ? beneath(time) : "";
    const zone = moved && (before === null || shiftAt(before) !== shiftAt(time)) ? offset(new Date(time)) : "";
    const under = [day, zone].filter(Boolean).join(", ");
    return under === "" ? above(time) : `${above(time)}<br>${under}`;
  });
  return {tickvals: times, ticktext};
}

function roundTimes(first, last, most) {
  const step = STEPS.find((one) => (last - first) / one <= most) ?? Math.ceil((last - first) / most / DAY) * DAY;
  let shift = shiftAt(first);
  const times = [];
  for (let time = Math.ceil((first + shift) / step) * step - shift; time <= last; time += step) {
    const now = shiftAt(time);
    // the clock changed: continue from the nearest round time
    if (now !== shift) time = Math.round((time + now) / step) * step - now;
    shift = now;
    if (time <= last) times.push(time);
  }
  return {step, times};
}

// How far the viewer's clock is ahead of UTC, in milliseconds.
function shiftAt(time) {
  return -new Date(time).getTimezoneOffset() * MINUTE;
}

function clock(time, step) {
  return (step >= MINUTE ? minutes : time % 1000 === 0 ? seconds : parts).format(time);
}

function year(time) {
  return String(new Date(time).getFullYear());
}

function isMidnight(time) {
  const date = new Date(time);
  return date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
}
