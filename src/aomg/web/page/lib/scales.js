// Ticks of value axes, with their unit (500 µs, 1 ms, 2 ms).

import {asText} from "./plot.js";
import {tick} from "./format.js";

// Range and ticks of an axis. tall: its length in pixels.
export function scaled([low, high], log, unit, tall) {
  const values = log ? logTicks(low, high, tall) : evenTicks(low, high, Math.max(2, Math.floor(tall / 55)));
  return {
    range: log ? [Math.log10(low), Math.log10(high)] : [low, high], tickvals: values, zeroline: false,
    ticktext: values.map((value) => asText(tick(value, unit))),
  };
}

function logTicks(low, high, tall) {
  const decades = Math.log10(high / low);
  const room = tall / decades;
  const steps = room > 400 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : room > 150 ? [1, 2, 3, 5] : room > 70 ? [1, 2, 5] : room > 45 ? [1, 3] : [1];
  const each = room > 18 ? 1 : Math.ceil(18 / room);
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % each !== 0) continue;
    for (const step of steps) {
      const value = Number(`${step}e${power}`);
      if (value >= low && value <= high) ticks.push(value);
    }
  }
  return ticks.length >= 2 ? ticks : evenTicks(low, high, 4);
}

export function evenTicks(low, high, many) {
  const rough = (high - low) / many;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((size) => size * power >= rough) * power;
  const ticks = [];
  for (let number = Math.ceil(low / step); number * step <= high && ticks.length < 50; number++) ticks.push(Number((number * step).toPrecision(12)));
  return ticks;
}
