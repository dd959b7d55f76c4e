// The reader's own numbers for the guide: one window of the key that is shown.

import {asker} from "../lib/api.js";
import {live} from "../lib/live.js";
import {defaultEstimate} from "../lib/format.js";

const ask = asker();
const POINTS = 20000; // no window is left out

// {query, data, index, estimate}: the response of /api/key, the window and the estimate to explain; null without windows.
export async function example(address) {
  const queries = live.status?.queries ?? [];
  const query = queries.find((one) => one.name === address.get("query")) ?? queries[0];
  if (query === undefined || query.windows === 0) return null;
  const labels = address.path === "/key" ? Object.fromEntries([...address.parameters].filter(([name]) => name.startsWith("key."))) : await firstKey(address, query);
  if (labels === null) return null;
  const data = await ask("/api/key", {query: query.name, ...labels, points: POINTS}, "guide");
  const until = Date.parse(address.get("at"));
  const wanted = data.ends.findLastIndex((end, index) => data.counts[index] !== null && !(Date.parse(end) > until));
  const index = wanted < 0 ? data.counts.findLastIndex((count) => count !== null) : wanted;
  if (index < 0) return null;
  const sort = address.get("sort");
  const name = query.estimates.some((one) => one.name === sort && one.quantile !== null) ? sort : defaultEstimate(query);
  return {query, data, index, estimate: data.estimates.find((one) => one.name === name) ?? null};
}

// The labels of the first key of the overview, as parameters.
async function firstKey(address, query) {
  const {sort, order, at, search} = Object.fromEntries(address.parameters);
  const known = query.estimates.some((one) => one.name === sort) ? sort : null;
  const {rows} = await ask("/api/keys", {query: query.name, sort: known, order: known && order, at, search, limit: 1}, "first key");
  if (rows.length === 0) return null;
  return Object.fromEntries(Object.entries(rows[0].key).map(([name, value]) => [`key.${name}`, value ?? ""]));
}
