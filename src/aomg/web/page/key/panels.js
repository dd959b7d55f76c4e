// The panels of a key's figure: their positions and value ranges.

const SHARE_PANEL = 0.14;

// Whether a point is in the displayed time range. view: {moments, from, to}, in milliseconds.
export function inside(view, index) {
  return view.moments[index] >= view.from && view.moments[index] <= view.to;
}

// The position of each panel, from the bottom up, as shares of the height; the strip has 11 px per estimate.
export function panels(height, estimates, shares) {
  const inner = Math.max(height - 50, 100);
  const counts = Math.min(0.2, 90 / inner);
  const gap = 26 / inner;
  const strip = [counts + gap, counts + gap + (estimates * 11 + 6) / inner];
  const share = shares ? [strip[1] + gap, strip[1] + gap + SHARE_PANEL] : null;
  const main = [(share ?? strip)[1] + gap, 1];
  return {counts: [0, counts], strip, shares: share, main, tall: (main[1] - main[0]) * inner};
}

// The value range of the main panel: values, bounds and limits in the displayed time range.
export function valueRange(series, limits, view, log) {
  let [low, high] = [Infinity, -Infinity];
  const take = (value) => {
    if (value === null || (log && value <= 0)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const estimate of series) {
    estimate.values.forEach((value, index) => {
      if (!inside(view, index)) return;
      take(value);
      // one wide interval must not flatten all others
      if (value !== null && estimate.high[index] !== null && estimate.high[index] < value * 20) take(estimate.high[index]);
      if (value !== null && estimate.low[index] !== null && (!log || estimate.low[index] > value / 20)) take(estimate.low[index]);
    });
  }
  for (const limit of limits) take(limit.value);
  if (low > high) return log ? [1, 1000] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.05, high * (high / low) ** 0.12];
  const room = (high - low || Math.abs(high) || 1) * 0.1;
  return [low >= 0 ? 0 : low - room, high + room];
}

// Which of the visible lines have a band that is nowhere higher than the line is thick: {thin, visible, widest}. widest: the
// largest relative width of those. tall: the height of the panel in pixels.
export function bands(series, view, [low, high], log, tall) {
  const place = (value) => ((log ? Math.log10(value / low) / Math.log10(high / low) : (value - low) / (high - low)) * tall);
  let widest = 0;
  const thin = series.filter((estimate) => {
    let [highest, relative] = [0, 0];
    estimate.values.forEach((value, index) => {
      const [bottom, top] = [estimate.low[index], estimate.high[index]];
      if (value === null || bottom === null || top === null || !inside(view, index) || (log && bottom <= 0)) return;
      highest = Math.max(highest, place(top) - place(bottom));
      relative = Math.max(relative, (top - bottom) / Math.abs(value || 1));
    });
    if (highest >= estimate.width + 1) return false;
    widest = Math.max(widest, relative);
    return true;
  });
  return {thin, visible: series, widest};
}

export function shareRange(series, view) {
  const values = series.flatMap((estimate) => [...estimate.low, ...estimate.high].filter((value, index) => value !== null && inside(view, index % view.moments.length)));
  if (values.length === 0) return {range: [0, 1]};
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((high - low) * 0.15, 0.0005);
  return {range: [low - room, high + room]};
}
