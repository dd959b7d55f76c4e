// The key and time range of an address, and the server's responses for them.

import {asker, Failure, queryText, Superseded} from "../lib/api.js";
import {STYLES} from "./styles.js";
import {live} from "../lib/live.js";
import {unitFor} from "../lib/format.js";
import {drawnRange, rangeOf, requestedRange, text} from "../lib/time_range.js";

// data: the response of /api/key; moments: the ends of its points in milliseconds; selected: {data, index}, the window of
// the numbers and the histogram; alerts: of the key.
export class KeyRequest {
  constructor(address) {
    this.address = address;
    this.ask = asker();
    this.data = null;
    this.moments = [];
    this.selected = {data: null, index: null};
    this.alerts = [];
    this.read();
  }

  // Reads the key from the address; true if it is another one than before.
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

  // The end of the selected window, in milliseconds; NaN for the newest.
  get windowEnd() {
    return Date.parse(this.address.get("at"));
  }

  get period() {
    return (this.query?.period_seconds ?? 60) * 1000;
  }

  get styles() {
    return Object.fromEntries((this.data?.estimates ?? []).map((estimate, index) => [estimate.name, {number: index % 5, ...STYLES[index % STYLES.length]}]));
  }

  // The displayed time range, in milliseconds.
  get drawn() {
    const known = [this.query?.newest_end, this.data.newest_end].map((end) => Date.parse(end)).filter((end) => !Number.isNaN(end));
    return drawnRange(this.range, this.moments[0] ?? NaN, known.length ? Math.max(...known) : NaN, this.period);
  }

  // The indexes of the displayed points, without gaps.
  inView() {
    const [from, to] = this.drawn;
    return this.moments.map((_, index) => index).filter((index) => this.data.counts[index] !== null && this.moments[index] >= from && this.moments[index] <= to);
  }

  unit(estimate) {
    return unitFor(this.query, estimate);
  }

  async load(width) {
    const points = Math.min(Math.max(Math.round(width * 1.2), 300), 2000);
    const key = {query: this.name, ...this.labels};
    const [data, alerts] = await Promise.all([
      this.ask("/api/key", {...key, ...requestedRange(this.range, this.query), points}, "key"),
      live.status?.alerts ? this.ask("/api/alerts", {...key, limit: 20}, "alerts").catch(() => null) : null,
    ]);
    const selected = await this.window(data);
    [this.data, this.selected, this.alerts] = [data, selected, alerts?.alerts ?? []];
    this.moments = data.ends.map((end) => Date.parse(end));
  }

  // The window that ended at windowEnd, or in the period before; by default the key's newest. Never another one instead.
  async window(data) {
    const wanted = Number.isNaN(this.windowEnd) ? Date.parse(data.newest_end) : this.windowEnd;
    const position = data.ends.findIndex((end, index) => Date.parse(end) === wanted && data.counts[index] !== null);
    if (position >= 0 || Number.isNaN(wanted)) return {data, index: position < 0 ? null : position};
    // it is outside of the range, or shares a point with others; times have digits beyond milliseconds
    const near = {from: text(wanted - this.period + 2), to: text(wanted + 1), points: 300};
    const answer = await this.ask("/api/key", {query: this.name, ...this.labels, ...near}, "window").catch((error) => {
      if (error instanceof Failure) return data;
      throw error;
    });
    const index = answer === data ? -1 : answer.counts.findLastIndex((count) => count !== null);
    return {data: answer, index: index < 0 ? null : index};
  }

  // The histogram of the selected window: a response, or a Failure; null if a newer request replaced it.
  async histogram() {
    const {data, index} = this.selected;
    if (index === null) return new Failure("This window is not in memory.", "Choose another time.");
    if (live.status?.histograms === false) {
      const whatToDo = live.status.alerts === null ? "Serve the configuration instead: aomg web CONFIG.yaml." : "Add summaries: [{parquet: summaries/}] to sinks in the configuration, and restart the monitor.";
      return new Failure("Histograms need stored summaries, and this page has none.", whatToDo);
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
    return {query: this.name, ...this.labels, at: this.selected.data.ends[this.selected.index]};
  }

  // Addresses of the CSV downloads.
  get csv() {
    return {
      key: "/api/key.csv" + queryText({query: this.name, ...this.labels, ...requestedRange(this.range, this.query, 0)}),
      histogram: this.selected.index === null ? null : "/api/histogram.csv" + queryText(this.ofWindow),
    };
  }
}
