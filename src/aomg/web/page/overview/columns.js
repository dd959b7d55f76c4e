// Widths of the columns of the table of keys: as wide as their longest text, so that nothing is cut where there is room.

import {mark} from "../lib/element.js";

const REM = 16;
const GAP = 12; // between columns
const EDGES = 34; // of a line
const FIXED = {trend: 100, width: 62, events: 62};
const LEAST_KEY = 6 * REM;
const MOST_KEY = 20 * REM;
const [LEAST_ESTIMATE, MOST_ESTIMATE] = [4.4 * REM, 11 * REM];

// keys: the panel of the table; both: the panel and the heat map. Returns fit(rows): makes the columns wide enough for
// these rows, too. A row is {name, marks, estimates: [[value, interval], ...], worst: [value, time]}. Columns never
// shrink: they would jump while windows arrive.
export function columnWidths(keys, both, query) {
  const many = query.estimates.length;
  const isLong = query.labels.length > 1; // keys with several labels may take two lines
  const family = getComputedStyle(document.body).fontFamily;
  const context = document.createElement("canvas").getContext("2d");
  const measure = (text, size, weight = 400) => {
    context.font = `${weight} ${size}px ${family}`;
    return Math.ceil(context.measureText(text).width) + 2;
  };
  let [name, least] = [LEAST_KEY, LEAST_KEY];
  const estimates = query.estimates.map(() => LEAST_ESTIMATE);
  let worst = LEAST_ESTIMATE;
  let shown = "";

  function fit(rows) {
    for (const row of rows) {
      const text = isLong ? measure(row.name, 13, 600) / 2 + 2 * REM : measure(row.name, 15, 600);
      const marks = row.marks.reduce((sum, one) => sum + measure(one, 12, 600) + 1.7 * REM, 0);
      name = Math.min(Math.max(name, text, marks), MOST_KEY);
      least = Math.max(least, marks);
      row.estimates.forEach(([value, interval], index) => {
        estimates[index] = Math.min(Math.max(estimates[index], measure(value, 15, 650), measure(interval, 12)), MOST_ESTIMATE);
      });
      worst = Math.min(Math.max(worst, ...row.worst.map((one, place) => measure(one, place === 0 ? 15 : 12))), MOST_ESTIMATE);
    }
    show();
  }

  function show() {
    const others = FIXED.trend + FIXED.width + FIXED.events + worst + estimates.reduce((sum, one) => sum + one, 0) + (many + 4) * GAP + EDGES;
    // a long name gives way before the table scrolls sideways
    const own = Math.max(least, Math.min(name, keys.clientWidth - others));
    // a name that would be cut takes two lines
    mark(keys, "data-many", isLong || own < name);
    const columns = [`minmax(${own}px, 1.6fr)`, `${FIXED.trend}px`, `minmax(${worst}px, 0.8fr)`, ...estimates.map((one) => `minmax(${one}px, 1fr)`), `${FIXED.width}px`, `${FIXED.events}px`];
    const wanted = columns.join(" ");
    if (wanted === shown) return;
    shown = wanted;
    keys.style.setProperty("--columns", wanted);
    keys.style.setProperty("--least", `${own + others}px`);
  }

  keys.style.setProperty("--span", String(many > 2 ? 6 : Math.floor(12 / Math.max(many, 1))));
  mark(keys, "data-lines", many > 2 ? 2 : 1); // of quantiles, on narrow screens
  mark(both, "data-beside", many <= 4 && query.labels.length <= 2);
  show();
  const sized = new ResizeObserver(show);
  sized.observe(keys);
  return {fit, close: () => sized.disconnect()};
}
