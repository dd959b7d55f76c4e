// What the address asks of a key, and what the server told of it.

import {asker, Failure, queryText, Superseded} from "../lib/api.js";
import {STYLES} from "./styles.js";
import {live} from "../lib/live.js";
import {unitFor} from "../lib/format.js";
import {askedRange, rangeOf, shownRange, text} from "../lib/time_range.js";

// data: the key over time, and moments, the ends of its points in milliseconds; told: {data, index}, the window that the numbers and the histogram are of; alerts of the key.
export class KeyAsked {
  constructor(address) {
    this.address = address;
    this.ask = asker();
    this.data = null;
    this.moments = [];
    this.told = {data: null, index: null};
    this.alerts = [];
    this.read();
  }

  // Which key the address names; true where that is another one than before.
  read() {
    const before = JSON.stringify([this.name, this.labels]);
    this.name = this.address.get("query") || live.status?.queries[0]?.name || "";
    this.labels = Object.fromEntries([...this.address.parameters].filter(([name]) => name.startsWith("key.")));
    return JSON.stringify([this.name, this.labels]) !== before;
  }

  get query() {
    return live.status?.queries.find((query) => query.name === this.name);
  }

  get range() {
    return rangeOf(this.address);
  }

  get log() {
    return this.address.get("scale") !== "linear";
  }

  get hidden() {
    return new Set(this.address.get("hide").split(",").filter(Boolean));
  }

  // The end of the window that was taken, in milliseconds; NaN where the newest is meant.
  get at() {
    return Date.parse(this.address.get("at"));
  }

  get period() {
    return (this.query?.period_seconds ?? 60) * 1000;
  }

  get styles() {
    return Object.fromEntries((this.data?.estimates ?? []).map((estimate, at) => [estimate.name, {number: at % 5, ...STYLES[at % STYLES.length]}]));
  }

  // The two ends of what is drawn, in milliseconds.
  get drawn() {
    const known = [this.query?.newest_end, this.data.newest_end].map((end) => Date.parse(end)).filter((end) => !Number.isNaN(end));
    return shownRange(this.range, this.moments[0] ?? NaN, known.length ? Math.max(...known) : NaN, this.period);
  }

  // The places of the points that are drawn; gaps have none.
  inView() {
    const [from, to] = this.drawn;
    return this.moments.map((_, at) => at).filter((at) => this.data.counts[at] !== null && this.moments[at] >= from && this.moments[at] <= to);
  }

  unit(estimate) {
    return unitFor(this.query, estimate);
  }

  async load(width) {
    const points = Math.min(Math.max(Math.round(width * 1.2), 300), 2000);
    const key = {query: this.name, ...this.labels};
    const [data, alerts] = await Promise.all([
      this.ask("/api/key", {...key, ...askedRange(this.range, this.query), points}, "key"),
      live.status?.alerts ? this.ask("/api/alerts", {...key, limit: 20}, "alerts").catch(() => null) : null,
    ]);
    const told = await this.window(data);
    [this.data, this.told, this.alerts] = [data, told, alerts?.alerts ?? []];
    this.moments = data.ends.map((end) => Date.parse(end));
  }

  // The window that ended at `at`, or in the period before; else the newest of the key. Never another one instead.
  async window(data) {
    const wanted = Number.isNaN(this.at) ? Date.parse(data.newest_end) : this.at;
    const there = data.ends.findIndex((end, at) => Date.parse(end) === wanted && data.counts[at] !== null);
    if (there >= 0 || Number.isNaN(wanted)) return {data, index: there < 0 ? null : there};
    // it is out of sight, or one of several windows that share a point; times have digits beyond milliseconds
    const near = {from: text(wanted - this.period + 2), to: text(wanted + 1), points: 300};
    const found = await this.ask("/api/key", {query: this.name, ...this.labels, ...near}, "window").catch((error) => {
      if (error instanceof Failure) return data;
      throw error;
    });
    const index = found === data ? -1 : found.counts.findLastIndex((count) => count !== null);
    return {data: found, index: index < 0 ? null : index};
  }

  // The histogram of the window: an answer, or a Failure that says why there is none; null where a newer one is asked for.
  async histogram() {
    const {data, index} = this.told;
    if (index === null) return new Failure("There is no such window.", "Choose another time.");
    if (live.status?.histograms === false) {
      const whatToDo = live.status.alerts === null ? "Serve the configuration instead: aomg web CONFIG.yaml." : "Add summaries: [{parquet: summaries/}] to sinks in the configuration, and start the monitor again.";
      return new Failure("Histograms need the summaries of sub-windows, which are not stored.", whatToDo);
    }
    try {
      return await this.ask("/api/histogram", this.ofWindow, "histogram");
    } catch (error) {
      if (error instanceof Failure) return error;
      if (error instanceof Superseded) return null;
      throw error;
    }
  }

  get ofWindow() {
    return {query: this.name, ...this.labels, at: this.told.data.ends[this.told.index]};
  }

  // Addresses of what is shown, as CSV.
  get csv() {
    return {
      key: "/api/key.csv" + queryText({query: this.name, ...this.labels, ...askedRange(this.range, this.query, 0)}),
      histogram: this.told.index === null ? null : "/api/histogram.csv" + queryText(this.ofWindow),
    };
  }
}
