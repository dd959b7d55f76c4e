// What the lines of a key look like, and what is said of the ways in which its estimates were found.

// Every line differs in dash or width too: colours are never needed to tell them apart.
export const STYLES = [
  {dash: "2px,2px", width: 1.8}, {dash: "8px,3px", width: 1.8}, {dash: "solid", width: 2.4}, {dash: "solid", width: 1.1}, {dash: "9px,3px,2px,3px", width: 2},
];
// How each estimate was found, in the order of trust; the strip has a colour, and a gap or none, for each.
export const METHODS = {
  exact: {said: "certified: right to its last digit", series: 0, dash: "solid"},
  band: {said: "from fine counts around the quantile", series: 1, dash: "solid"},
  envelope: {said: "from coarse counts that bound every quantile", series: 2, dash: "6px,2px"},
  mean: {said: "the mean of the sub-windows' quantiles (Level 2)", series: 3, dash: "3px,2px"},
  "top-k": {said: "from the kept largest values (few-k)", series: 4, dash: "solid"},
  "sample-k": {said: "from a sample of the tail, as it is bursty (few-k)", series: 4, dash: "4px,2px"},
  sketch: {said: "by another sketch, which promises nothing", series: 2, dash: "2px,2px"},
};

// Its number among the colours of series, and its dash.
export function methodStyle(name) {
  return METHODS[name] ?? {series: 3, dash: "1px,2px"};
}

// The methods that occur, in the order of METHODS; others last.
export function methodsIn(data) {
  const found = new Set(data.estimates.flatMap((estimate) => estimate.methods).filter(Boolean));
  const known = Object.keys(METHODS);
  return [...found].sort((one, other) => (known.indexOf(one) + 1 || 99) - (known.indexOf(other) + 1 || 99));
}

export function translucent(colour, alpha) {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(",")},${alpha})`;
}
