// The panels of a key's figure: where each is, and which values it shows.

const SHARE_PANEL = 0.14;

// Whether a point is in the range of time that is shown. view: {moments, from, to}, in milliseconds.
export function inside(view, at) {
  return view.moments[at] >= view.from && view.moments[at] <= view.to;
}

// Where each panel is, from the bottom up, in parts of the height; the strip has 11 px for each estimate.
export function panels(height, estimates, shares) {
  const inner = Math.max(height - 50, 100);
  const counts = Math.min(0.2, 90 / inner);
  const gap = 26 / inner;
  const strip = [counts + gap, counts + gap + (estimates * 11 + 6) / inner];
  const share = shares ? [strip[1] + gap, strip[1] + gap + SHARE_PANEL] : null;
  const main = [(share ?? strip)[1] + gap, 1];
  return {counts: [0, counts], strip, shares: share, main, tall: (main[1] - main[0]) * inner};
}

// What the panel must show: values, bounds and limits that are in the range of time.
export function valueRange(series, limits, view, log) {
  let [low, high] = [Infinity, -Infinity];
  const take = (value) => {
    if (value === null || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const estimate of series) {
    estimate.values.forEach((value, at) => {
      if (!inside(view, at)) return;
      take(value);
      // one wide interval must not flatten all the rest
      if (value !== null && estimate.high[at] !== null && estimate.high[at] < value * 20) take(estimate.high[at]);
      if (value !== null && estimate.low[at] !== null && (!log || estimate.low[at] > value / 20)) take(estimate.low[at]);
    });
  }
  for (const limit of limits) take(limit.value);
  if (low > high) return log ? [1, 1000] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.05, high * (high / low) ** 0.12];
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  return [low >= 0 ? 0 : low - room, high + room];
}

export function shareRange(series, view) {
  const values = series.flatMap((estimate) => [...estimate.low, ...estimate.high].filter((value, at) => value !== null && inside(view, at % view.moments.length)));
  if (values.length === 0) return {range: [0, 1]};
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((high - low) * 0.15, 0.0005);
  return {range: [low - room, high + room]};
}
