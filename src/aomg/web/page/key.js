// One key: its newest values, and over time its quantiles with their intervals, methods, limits, alerts and counts.

import {keyAddress} from "./address.js";
import {alertLine} from "./alert_card.js";
import {asker, Failure, queryText, Superseded} from "./api.js";
import {element, fill, mark, notice, write} from "./element.js";
import {histogramPanel} from "./histogram.js";
import {keyCards} from "./key_cards.js";
import {keyFigure, METHODS, methodsIn, methodStyle, STYLES} from "./key_plots.js";
import {keyTable} from "./key_table.js";
import {sample, tipContent} from "./key_tip.js";
import {live} from "./live.js";
import {draw, look} from "./plot.js";
import {duration, keyText, stateMark, unitFor, wallClock, when} from "./shown.js";
import {askedRange, rangeButtons, rangeOf, shownRange, zoomed} from "./time_range.js";

export const title = "Key";

export async function open(place, address) {
  const view = new KeyView(place, address);
  await view.start();
  return view;
}

class KeyView {
  constructor(place, address) {
    this.place = place;
    this.address = address;
    this.ask = asker();
    this.name = address.get("query") || live.status?.queries[0]?.name || "";
    this.labels = Object.fromEntries([...address.parameters].filter(([name]) => name.startsWith("key.")));
    this.chosen = null;
  }

  get query() {
    return live.status?.queries.find((query) => query.name === this.name);
  }

  get log() {
    return this.address.get("scale") !== "linear";
  }

  get hidden() {
    return new Set(this.address.get("hide").split(",").filter(Boolean));
  }

  get colours() {
    return Object.fromEntries((this.data?.estimates ?? []).map((estimate, at) => [estimate.name, {number: at % 5, ...STYLES[at % STYLES.length]}]));
  }

  async start() {
    await this.load();
    this.empty = !this.data.ends.length && !this.address.get("from");
    if (this.empty) {
      this.place.replaceChildren(notice("Nothing is stored of this key", "Its windows may be gone.", element("p", null, element("a", {href: "/" + queryText({query: this.name})}, "Look for it on the overview"))));
      return;
    }
    this.build();
    this.show();
    this.plot = await draw(this.figure, () => this.make(), {doubleClick: false});
    this.listen();
    this.loadHistogram();
  }

  // -- Data ------------------------------------------------------------------------------------------------------------

  async load() {
    const points = Math.min(Math.max(Math.round(this.place.clientWidth * 1.2), 300), 2000);
    const asked = {query: this.name, ...this.labels};
    const [data, alerts, newest] = await Promise.all([
      this.ask("/api/key", {...asked, ...askedRange(rangeOf(this.address), this.query), points}, "key"),
      live.status?.alerts ? this.ask("/api/alerts", {...asked, limit: 20}, "alerts").catch(passed) : null,
      this.needsNewest() ? this.ask("/api/key", {...asked, ...askedRange({kind: "last", name: "15m"}, this.query), points: 300}, "newest").catch(passed) : null,
    ]);
    this.data = data;
    this.alerts = alerts?.alerts ?? [];
    this.newest = newest ?? data;
  }

  // The numbers above the plot are the newest also where the plot shows the past.
  needsNewest() {
    const range = rangeOf(this.address);
    return range.kind === "between" && !this.address.get("at");
  }

  // The point that the numbers and the histogram tell of: that at `at`, or the newest.
  point() {
    const at = Date.parse(this.address.get("at"));
    const data = Number.isNaN(at) ? this.newest : this.data;
    const there = data.ends.map((_, index) => index).filter((index) => data.counts[index] !== null);
    if (there.length === 0) return {data, index: null};
    if (Number.isNaN(at)) return {data, index: there.at(-1)};
    const distance = (index) => Math.abs(Date.parse(data.ends[index]) - at);
    return {data, index: there.reduce((best, index) => (distance(index) < distance(best) ? index : best))};
  }

  async loadHistogram() {
    const {data, index} = this.point();
    if (index === null) return;
    const end = data.ends[index];
    const lines = data.estimates.filter((one) => this.unit(one.name) !== "share").map((estimate) => {
      const {number, dash} = this.colours[estimate.name] ?? {number: 0, dash: "solid"};
      return {name: estimate.name, title: estimate.title, value: estimate.values[index], colour: look().series[number], dash};
    });
    if (live.status?.histograms === false) {
      const whatToDo = live.status.alerts === null ? "Serve the configuration instead: aomg web CONFIG.yaml." : "Add summaries: [{parquet: summaries/}] to sinks in the configuration, and start the monitor again.";
      await this.histogram.show(new Failure("Histograms need the summaries of sub-windows, which are not stored.", whatToDo), lines);
      return;
    }
    try {
      const answer = await this.ask("/api/histogram", {query: this.name, ...this.labels, at: end}, "histogram");
      await this.histogram.show(answer, lines, this.query?.unit ?? null);
    } catch (error) {
      if (error instanceof Failure) await this.histogram.show(error, lines);
      else if (!(error instanceof Superseded)) throw error;
    }
  }

  unit(estimate) {
    return unitFor(this.query, estimate);
  }

  // -- The page --------------------------------------------------------------------------------------------------------

  build() {
    this.heading = element("h1");
    this.about = element("p", {class: "soft about"});
    this.siblings = element("p", {class: "soft about"});
    this.active = element("div", {class: "active"});
    this.cards = element("dl", {class: "cards"});
    this.ranges = rangeButtons((name) => this.change({last: name, from: null, to: null}));
    this.scale = element("button", {type: "button", onclick: () => this.change({scale: this.log ? "linear" : null})}, "Log scale");
    this.csv = element("a", {class: "button", download: true}, "CSV");
    this.legend = element("div", {class: "legend", role: "group", "aria-label": "Lines shown"});
    this.figure = element("div", {class: "plot key-plot", tabindex: "0", role: "application", "aria-label": "Quantiles over time", "aria-describedby": "key-help"});
    this.tip = element("div", {class: "tip", hidden: true, role: "status"});
    this.cursor = element("div", {class: "cursor", hidden: true});
    this.methods = element("ul", {class: "methods small"});
    this.note = element("p", {class: "soft small told", id: "key-help"});
    this.bars = element("section", {class: "panel histogram", "aria-labelledby": "histogram-title"}, element("h2", {id: "histogram-title"}, "Histogram of the window"));
    this.past = element("section", {class: "panel past", "aria-labelledby": "past-title"}, element("h2", {id: "past-title"}, "Alerts of this key"));
    this.list = element("ul", {class: "lines"});
    this.past.append(this.list);
    this.table = keyTable();
    this.histogram = histogramPanel(this.bars);
    const picture = element("div", {class: "picture"}, this.figure, this.cursor, this.tip);
    this.place.replaceChildren(element("div", {class: "key-view"},
      element("header", null, element("nav", {class: "crumbs small", "aria-label": "Where this is"}, element("a", {href: "/" + queryText({query: this.name})}, this.name), " /"), this.heading, this.about, this.siblings),
      this.active, this.cards,
      element("section", {class: "panel", "aria-label": "Over time"}, element("div", {class: "head tools"}, this.ranges.place, this.scale, this.csv), this.legend, picture, this.methods, this.note),
      element("div", {class: "pair"}, this.bars, this.past), this.table.place,
    ));
  }

  show() {
    const {data, query} = this;
    const {data: told, index} = this.point();
    const range = rangeOf(this.address);
    document.title = [keyText(data.key), this.name, live.status?.title, "AOMG"].filter(Boolean).join(" · ");
    const firing = this.alerts.filter((alert) => alert.state === "firing" || alert.state === "pending");
    const states = [...new Set(firing.map((alert) => alert.state))];
    const signature = JSON.stringify([data.key, states, index !== null && told.bursts[index]]);
    if (this.heading.dataset.shown !== signature) {
      this.heading.dataset.shown = signature;
      this.heading.replaceChildren(keyText(data.key, true));
      fill(this.heading, [...states.map((state) => [" ", stateMark(state)]), index !== null && told.bursts[index] ? [" ", stateMark("burst")] : null]);
    }
    this.showAbout(told, index);
    this.cards.replaceChildren(...keyCards(told, index, (name) => this.unit(name)));
    this.active.replaceChildren(...firing.map((alert) => alertLine(alert)));
    const past = this.alerts.filter((alert) => alert.state === "resolved");
    this.list.replaceChildren(...(past.length ? past.map((alert) => element("li", null, alertLine(alert))) : [element("li", {class: "soft"}, live.status?.alerts ? "None is over yet: those that fire or may are above." : "Alerts are not known here: only a folder of results is served. Serve the configuration instead: aomg web CONFIG.yaml.")]));
    this.ranges.show(range);
    mark(this.scale, "aria-pressed", String(this.log));
    this.csv.href = "/api/key.csv" + queryText({query: this.name, ...this.labels, ...trimmed(askedRange(range, query), range)});
    this.showLegend();
    const each = data.windows_per_point > 1 ? `A point stands for ${data.windows_per_point} windows: that with the highest ${data.estimates.at(-1)?.title ?? "value"}. ` : "";
    this.note.replaceChildren(`${each}Drag to zoom, double click for all; press a point for its histogram. `, element("span", {class: "keyboard"}, "With the keyboard: arrows go from point to point, + and − zoom, 0 shows all, Enter takes the point."));
    this.table.show(data, (name) => this.unit(name));
  }

  showAbout(told, index) {
    const {query} = this;
    const at = this.address.get("at");
    const windows = [query?.size_seconds && `windows of ${duration(query.size_seconds)}`, query?.period_seconds && `every ${duration(query.period_seconds)}`].filter(Boolean).join(", ");
    this.about.replaceChildren();
    fill(this.about, [
      windows ? `${capital(windows)}. ` : "", index === null ? "No window in this time." : [at ? "Shown: the window that ended " : "Newest window ended ", when(told.ends[index], true), "."],
      at ? [" ", element("a", {href: this.here({at: null, from: null, to: null})}, "Show the newest")] : null,
    ]);
    const others = (live.status?.queries ?? []).filter((other) => other.name !== this.name && same(other.labels, query?.labels ?? []));
    const kept = Object.fromEntries(["from", "to", "last", "scale", "at"].map((name) => [name, this.address.get(name)]));
    this.siblings.hidden = others.length === 0;
    this.siblings.replaceChildren("The same key in ");
    fill(this.siblings, others.flatMap((other, at) => [at ? ", " : null, element("a", {href: keyAddress(other.name, this.data.key) + queryText(kept).replace("?", "&")}, other.name)]));
  }

  showLegend() {
    const {hidden} = this;
    const names = this.data.estimates.map((estimate) => estimate.name).join();
    if (this.legend.dataset.names !== names) {
      this.legend.dataset.names = names;
      this.legend.replaceChildren(...this.data.estimates.map((estimate) => {
        const {number, dash, width: thick} = this.colours[estimate.name];
        return element("button", {type: "button", class: "quiet", "data-estimate": estimate.name, onclick: () => this.toggle(estimate.name)}, sample(`series-${number + 1}`, dash, thick), estimate.title);
      }), element("span", {class: "small soft"}, "shaded: low..high, which always holds the exact value"), stateMark("burst"));
    }
    for (const button of this.legend.querySelectorAll("button")) mark(button, "aria-pressed", String(!hidden.has(button.dataset.estimate)));
    const methods = methodsIn(this.data);
    if (this.methods.dataset.names !== methods.join()) {
      this.methods.dataset.names = methods.join();
      this.methods.replaceChildren(...methods.map((name) => {
        const {dash, series} = methodStyle(name);
        return element("li", null, sample(`series-${series + 1}`, dash, 7), element("b", null, name), METHODS[name] ? ` ${METHODS[name].said}` : null);
      }));
    }
  }

  // -- The plot --------------------------------------------------------------------------------------------------------

  make() {
    const {data} = this;
    const ends = [data.ends[0], data.ends.at(-1)].map((end) => Date.parse(end));
    const newest = Math.max(ends[1] || 0, Date.parse(this.query?.newest_end) || 0);
    this.range = shownRange(rangeOf(this.address), ends[0], newest, (this.query?.period_seconds ?? 60) * 1000);
    const at = this.address.get("at");
    const wide = this.figure.clientWidth;
    return keyFigure(data, {query: this.query, range: this.range, log: this.log, hidden: this.hidden, at: at && new Date(at), look: look(), width: wide, height: wide < 600 ? 520 : 600});
  }

  listen() {
    this.figure.on("plotly_relayout", (changed) => {
      const [from, to] = [changed["xaxis.range[0]"] ?? changed["xaxis.range"]?.[0], changed["xaxis.range[1]"] ?? changed["xaxis.range"]?.[1]];
      if (from !== undefined && to !== undefined) this.zoom(new Date(from), new Date(to));
    });
    this.figure.on("plotly_doubleclick", () => this.change({last: "all", from: null, to: null}));
    this.figure.on("plotly_hover", ({points, event}) => {
      const found = points.find((point) => point.customdata !== undefined);
      if (found) this.tell(found.customdata, event);
    });
    this.figure.on("plotly_unhover", () => this.tell(null));
    this.figure.on("plotly_click", ({points}) => {
      const found = points.find((point) => point.customdata !== undefined);
      if (found) this.take(found.customdata);
    });
    this.figure.addEventListener("keydown", (event) => this.pressed(event));
    this.figure.addEventListener("blur", () => this.tell(null));
  }

  pressed(event) {
    const there = this.data.ends.map((_, at) => at).filter((at) => this.data.counts[at] !== null && this.inView(at));
    const [from, to] = this.range.map(Number);
    const acts = {
      ArrowLeft: () => this.step(there, -1), ArrowRight: () => this.step(there, 1), Home: () => this.step(there, -Infinity), End: () => this.step(there, Infinity),
      "+": () => this.zoom(from + (to - from) / 4, to - (to - from) / 4), "=": () => this.zoom(from + (to - from) / 4, to - (to - from) / 4),
      "-": () => this.zoom(from - (to - from) / 2, to + (to - from) / 2), 0: () => this.change({last: "all", from: null, to: null}),
      Enter: () => this.chosen !== null && this.take(this.chosen), Escape: () => this.tell(null),
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }

  inView(at) {
    const moment = Date.parse(this.data.ends[at]);
    return moment >= +this.range[0] && moment <= +this.range[1];
  }

  step(there, by) {
    if (there.length === 0) return;
    const now = this.chosen === null ? (by < 0 ? there.length : -1) : there.indexOf(this.chosen);
    this.tell(there[Math.min(Math.max(now + by, 0), there.length - 1)]);
  }

  // All numbers of one point, beside it. Without an event (keyboard) the place is found by its time.
  tell(at, event = null) {
    this.chosen = at;
    this.tip.hidden = at === null;
    this.cursor.hidden = at === null || event !== null;
    if (at === null) return;
    const {data} = this;
    this.tip.replaceChildren(...tipContent(data, at, {hidden: this.hidden, styles: this.colours, unitOf: (name) => this.unit(name)}));
    const box = this.figure.getBoundingClientRect();
    const axis = this.figure._fullLayout.xaxis;
    const x = event ? event.clientX - box.left : axis._offset + axis.d2p(wallClock(data.ends[at]));
    this.cursor.style.left = `${x + this.figure.offsetLeft}px`;
    const own = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, x > box.width / 2 ? Math.max(x - own - 18, 0) : Math.min(x + 18, box.width - own))}px`;
    this.tip.style.top = "28px";
  }

  // -- Changes ---------------------------------------------------------------------------------------------------------

  zoom(from, to) {
    if (to - from >= 1000) this.change(zoomed(+from, +to));
    else this.plot.update();
  }

  take(at) {
    this.change({at: this.data.ends[at], ...(rangeOf(this.address).kind === "between" ? zoomed(+this.range[0], +this.range[1]) : this.address.get("last") ? {} : {last: "6h"})});
    this.loadHistogram();
  }

  toggle(name) {
    const {hidden} = this;
    if (!hidden.delete(name)) hidden.add(name);
    this.change({hide: [...hidden].join(",")});
  }

  here(changes) {
    const parameters = new URLSearchParams(this.address.parameters);
    for (const [name, value] of Object.entries(changes)) value === null ? parameters.delete(name) : parameters.set(name, value);
    return "/key" + queryText(parameters);
  }

  async change(changes) {
    this.address.change(changes);
    await this.refresh();
  }

  // Back and forward, or a link to another key.
  async moved() {
    const labels = Object.fromEntries([...this.address.parameters].filter(([name]) => name.startsWith("key.")));
    const name = this.address.get("query") || live.status?.queries[0]?.name || "";
    if (name === this.name && JSON.stringify(labels) === JSON.stringify(this.labels)) {
      await this.refresh();
      return;
    }
    [this.name, this.labels] = [name, labels];
    this.end();
    await this.startAgain();
  }

  // Failing is told here, as nobody waits for it; the next change tries again.
  async startAgain() {
    try {
      await this.start();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.empty = true;
      this.place.replaceChildren(notice(error.message, error.whatToDo));
    }
  }

  async refresh() {
    if (this.empty) return this.startAgain();
    if (!this.plot) return;
    try {
      await this.load();
    } catch (error) {
      if (error instanceof Superseded) return;
      if (error instanceof Failure) return this.failed(error);
      throw error;
    }
    this.show();
    await this.plot.update();
    await this.loadHistogram();
  }

  failed(error) {
    write(this.note, `${error.message} ${error.whatToDo}`);
  }

  end() {
    this.ask.end();
    this.plot?.close();
    this.histogram?.close();
    this.plot = null;
  }

  close() {
    this.end();
  }
}

function passed() {
  return null;
}

function trimmed(asked, range) {
  return range.kind === "between" ? {from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString()} : asked;
}

function same(one, other) {
  return one.length === other.length && [...one].sort().join("\u0000") === [...other].sort().join("\u0000");
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
