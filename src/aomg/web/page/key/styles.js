// Styles of a key's lines, and descriptions of the estimates' methods.

// Lines also differ in dash or width: colours alone are never needed.
export const STYLES = [
  {dash: "2px,2px", width: 1.8}, {dash: "8px,3px", width: 1.8}, {dash: "solid", width: 2.4}, {dash: "solid", width: 1.1}, {dash: "9px,3px,2px,3px", width: 2},
];
// The methods, most accurate first; the strip shows each with its own colour and dash.
export const METHODS = {
  exact: {meaning: "both ends of its interval are equal", series: 0, dash: "solid"},
  certified: {meaning: "right to the digits that the query keeps", series: 0, dash: "6px,2px"},
  band: {meaning: "from fine-grained counts around the quantile", series: 1, dash: "solid"},
  envelope: {meaning: "from coarse counts that bound the quantile", series: 2, dash: "6px,2px"},
  mean: {meaning: "mean of the sub-windows' quantiles (Level 2)", series: 3, dash: "3px,2px"},
  "top-k": {meaning: "from the stored largest values (few-k)", series: 4, dash: "solid"},
  "sample-k": {meaning: "from a sample of the tail, because of a burst (few-k)", series: 4, dash: "4px,2px"},
  sketch: {meaning: "from another sketch, without a guarantee", series: 2, dash: "2px,2px"},
};

// The number of its colour, and its dash.
export function methodStyle(name) {
  return METHODS[name] ?? {series: 3, dash: "1px,2px"};
}

// The methods in the data, in the order of METHODS; others last.
export function methodsIn(data) {
  const methods = new Set(data.estimates.flatMap((estimate) => estimate.methods).filter(Boolean));
  const known = Object.keys(METHODS);
  return [...methods].sort((one, other) => (known.indexOf(one) + 1 || 99) - (known.indexOf(other) + 1 || 99));
}

export function translucent(colour, alpha) {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(",")},${alpha})`;
}
