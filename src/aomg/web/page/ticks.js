// Where a time axis has its ticks: at round times of the viewer's clock.

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [1000, 2000, 5000, 10000, 15000, 30000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
const minutes = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
const seconds = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const days = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});

// [{at, text}] between two times in milliseconds, at most `most`.
export function timeTicks(first, last, most) {
  const step = STEPS.find((one) => (last - first) / one <= most) ?? Math.ceil((last - first) / most / DAY) * DAY;
  const shift = -new Date(first).getTimezoneOffset() * MINUTE;
  const found = [];
  for (let at = Math.ceil((first + shift) / step) * step - shift; at <= last; at += step) {
    const date = new Date(at);
    const midnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
    found.push({at, text: step >= DAY || midnight ? days.format(date) : step < MINUTE ? seconds.format(date) : minutes.format(date)});
  }
  return found;
}
