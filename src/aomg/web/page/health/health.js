// The health view: a verdict, the key figures, and their history.

import {asker, Failure, Superseded} from "../lib/api.js";
import {element, fill, write} from "../lib/element.js";
import {healthFigure, phaseColour, phaseOf, phasesOf, PICTURES, withNewlyLate} from "./plots.js";
import {live} from "../lib/live.js";
import {draw} from "../lib/plot.js";
import {brief, bytes, duration, sentence, time, timeWithUtc, when, whole, width} from "../lib/format.js";
import {verdict} from "./verdict.js";

export const title = "Health";
const MOST = 50;

export async function open(place, address) {
  const view = new HealthView(place, address);
  await view.start();
  return view;
}

class HealthView {
  constructor(place) {
    this.place = place;
    this.ask = asker();
  }

  async start() {
    await this.load();
    if (!this.place.isConnected) throw new Superseded(); // another view was opened meanwhile
    this.state = element("h1", {class: "mark verdict"});
    this.reasons = element("ul", {class: "reasons"});
    this.cards = element("dl", {class: "cards"});
    this.missing = element("div", {class: "missing", hidden: true});
    this.pictures = PICTURES.map((picture) => {
      const plot = element("div", {class: "plot", role: "img", "aria-label": picture.title});
      const readout = element("p", {class: "readout small soft", "aria-live": "off"});
      return {picture, plot, readout, drawn: null, panel: element("section", {class: "panel small-plot"}, element("div", {class: "head"}, element("h2", null, picture.title), readout), plot, picture.name === "phases" ? (this.phases = element("ul", {class: "methods small"})) : picture.name === "refused" ? element("ul", {class: "methods small"}, swatch(2, 0, "refused"), swatch(1, 1, "late")) : null)};
    });
    this.refused = element("section", {class: "panel", hidden: true});
    this.receivers = element("section", {class: "panel", hidden: true});
    this.body = element("tbody");
    this.headRow = element("tr");
    this.details = element("details", {class: "panel as-table", ontoggle: () => this.table()}, element("summary", null, "Micro-batches as a table"), element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "The newest micro-batches"}, element("table", null, element("thead", null, this.headRow), this.body)));
    this.plots = element("div", {class: "multiples"});
    this.place.replaceChildren(element("div", {class: "health-view"},
      element("header", {class: "head"}, this.state, element("a", {class: "button end", href: "/api/health.csv", download: true}, "CSV")), this.reasons, this.cards, this.missing, this.plots,
      element("div", {class: "pair"}, this.refused, this.receivers), this.details));
    this.show();
    await this.paint();
  }

  async load() {
    const health = await this.ask("/api/health", null, "health");
    this.health = {...health, batches: withNewlyLate(health.batches)};
  }

  show() {
    const {health} = this;
    const assessment = verdict(health, live.status);
    this.state.dataset.state = assessment.state;
    write(this.state, assessment.headline);
    this.reasons.hidden = assessment.reasons.length === 0;
    this.reasons.replaceChildren(...assessment.reasons.map(({what, whatToDo}) => element("li", null, element("strong", null, what), whatToDo ? ` ${whatToDo}` : null)));
    const numbers = this.numbers().filter(([, value]) => health.batches.length > 0 || value !== "–");
    this.cards.replaceChildren(...numbers.map(([name, value, more]) => element("div", {class: "figure", "data-number": name}, element("dt", null, name), element("dd", {class: "value"}, value), more ? element("dd", {class: "small soft"}, more) : null)));
    const none = health.batches.length === 0;
    this.missing.hidden = !none;
    this.plots.hidden = this.details.hidden = none;
    if (none) this.missing.replaceChildren(...this.whatIsMissing());
    this.lists();
    this.table();
  }

  numbers() {
    const {health} = this;
    const {totals, server, batches} = health;
    const last = batches.at(-1);
    const recent = batches.slice(-20);
    const mean = (of) => (recent.length ? recent.reduce((sum, batch) => sum + (of(batch) ?? 0), 0) / recent.length : null);
    const seconds = recent.reduce((sum, batch) => sum + (batch.seconds ?? 0), 0);
    const undelivered = Object.values(health.undelivered ?? {}).reduce((sum, many) => sum + many, 0);
    const all = (totals?.events ?? 0) + (totals?.refused ?? 0);
    return [
      ["Events per second", last ? `${brief(last.events_per_second)}/s` : "–", seconds > 0 ? `${brief(mean((batch) => batch.events_per_second))}/s over ${whole(recent.length)} ${recent.length === 1 ? "batch" : "batches"}` : ""],
      health.lag_seconds === null && health.newest_end
        ? ["Newest window", time(health.newest_end).split(", ").at(-1), ["ended ", when(health.newest_end, true)]]
        : ["Lag behind the clock", duration(health.lag_seconds), health.newest_end ? ["newest window ended ", when(health.newest_end, true)] : "no window yet"],
      ["Micro-batch", last ? duration(last.seconds) : "–", last ? `batch ${whole(last.batch)}; ${duration(mean((batch) => batch.seconds))} on average` : ""],
      ["Events so far", last ? brief(totals.events) : "–", last ? `${brief(totals.rows)} rows of results` : ""],
      ["Late events", totals?.late === null || totals?.late === undefined ? "–" : whole(totals.late), totals?.late === null || totals?.late === undefined ? "unknown" : "arrived after their window closed; dropped"],
      ["Refused events", last || totals?.refused ? whole(totals.refused) : "–", totals?.refused && totals.events ? `${width(totals.refused / all)} of all; stored in quarantine` : ""],
      ["Spark state", health.state_bytes === null || health.state_bytes === undefined ? "–" : bytes(health.state_bytes), health.state_rows === null || health.state_rows === undefined ? "" : `${whole(health.state_rows)} rows`],
      ["Checkpoint", health.checkpoint_age_seconds === null || health.checkpoint_age_seconds === undefined ? "–" : `${duration(Math.round(health.checkpoint_age_seconds))} ago`, health.checkpoint_age_seconds === null || health.checkpoint_age_seconds === undefined ? "" : "a restart resumes from it"],
      ["Waiting notifications", last ? whole(undelivered) : "–", undelivered ? "in the outbox; the monitor retries" : ""],
      ["Page memory", bytes(server?.history_bytes), server?.most_bytes ? `${width(server.history_bytes / server.most_bytes, false)} of ${bytes(server.most_bytes)}; when full, the oldest windows are dropped` : ""],
      ["Viewers", whole(server?.viewers), server?.viewers === 1 ? "open page" : "open pages"],
    ];
  }

  whatIsMissing() {
    if (live.status?.alerts === null) {
      return [
        element("h2", null, "Only a folder of results is served"),
        element("p", null, "Events per second, micro-batches, late and refused events, state, checkpoint and waiting notifications are stored elsewhere. To see them, serve the monitor's configuration:"),
        element("p", null, element("code", null, "aomg web CONFIG.yaml")),
      ];
    }
    if (this.health.starting) return [element("h2", null, "No micro-batch is done yet"), element("p", null, "The monitor's health appears here after the first one.")];
    return [element("h2", null, "The monitor has not finished a micro-batch yet"), element("p", null, "Its health appears here after the first one. If the monitor is not running, start it:"), element("p", null, element("code", null, "aomg run CONFIG.yaml"))];
  }

  lists() {
    const {health} = this;
    const reasons = Object.entries(health.totals?.refused_by_reason ?? {}).sort(([, one], [, other]) => other - one);
    this.refused.hidden = reasons.length === 0;
    this.refused.replaceChildren(element("h2", null, "Refused events by reason"), list(reasons, "Reason", "Events"));
    const waiting = Object.entries(health.undelivered ?? {});
    this.receivers.hidden = waiting.length === 0;
    this.receivers.replaceChildren(element("h2", null, "Waiting notifications by receiver"), list(waiting, "Receiver", "Notifications"));
  }

  async paint() {
    const {batches} = this.health;
    if (batches.length === 0) return;
    const known = this.pictures.filter(({picture}) => !picture.optional || batches.some((batch) => (picture.of(batch) ?? null) !== null));
    if (this.plots.childElementCount !== known.length) this.plots.replaceChildren(...known.map(({panel}) => panel));
    for (const picturePanel of known) await this.drawOne(picturePanel);
    for (const {picture, plot, readout} of known) {
      if (!plot.matches(":hover")) write(readout, picture.text(batches.at(-1)));
      plot.setAttribute("aria-label", `${picture.title} over ${whole(batches.length)} micro-batches; newest: ${picture.text(batches.at(-1))}`);
    }
    const phases = phasesOf(batches);
    if (this.phases.dataset.names !== phases.join()) {
      this.phases.dataset.names = phases.join();
      this.phases.replaceChildren(...phases.map((phase, index) => phase === "other" ? swatch(null, 0, phase) : swatch(phaseColour(index), index, phase)));
    }
  }

  async drawOne(picturePanel) {
    const {picture, plot, readout} = picturePanel;
    if (picturePanel.drawn) {
      (await picturePanel.drawn).update();
      return;
    }
    picturePanel.drawn = draw(plot, () => healthFigure(picture, this.health.batches, plot.clientWidth)); // a promise: drawn once
    await picturePanel.drawn;
    const say = (batch) => write(readout, batch === undefined ? "" : `${timeWithUtc(batch.at)}: ${picture.text(batch)}`);
    plot.on("plotly_hover", ({points}) => say(this.health.batches[points[0].customdata]));
    plot.on("plotly_unhover", () => write(readout, picture.text(this.health.batches.at(-1))));
  }

  table() {
    if (!this.details.open) return;
    const {batches} = this.health;
    const phases = phasesOf(batches);
    const columns = ["Batch", "Time", "Events", "Events/s", "Duration", ...phases, "Rows", "Late", "Refused", "State rows", "State size"];
    this.headRow.replaceChildren(...columns.map((name, index) => element("th", {scope: "col", class: index === 1 ? null : "number"}, name)));
    this.body.replaceChildren(...batches.slice(-MOST).reverse().map((batch) => element("tr", null, element("th", {scope: "row", class: "number"}, whole(batch.batch)), element("td", null, when(batch.at, true)),
      [whole(batch.events), brief(batch.events_per_second), duration(batch.seconds), ...phases.map((phase) => duration(phaseOf(batch, phase))), whole(batch.rows), whole(batch.newly_late), whole(batch.refused), whole(batch.state_rows), bytes(batch.state_bytes)].map((text) => element("td", {class: "number"}, text)))));
  }

  async refresh() {
    try {
      await this.load();
    } catch (error) {
      if (error instanceof Superseded) return;
      if (!(error instanceof Failure)) throw error;
      this.reasons.hidden = false;
      this.reasons.replaceChildren(element("li", null, element("strong", null, sentence(error.message)), ` ${sentence(error.whatToDo)}`));
      return;
    }
    this.show();
    await this.paint();
  }

  moved() {}

  close() {
    this.ask.end();
    for (const {drawn} of this.pictures ?? []) drawn?.then((one) => one.close());
  }
}

function swatch(series, pattern, name) {
  return element("li", null, element("span", {class: "swatch", "data-pattern": pattern, style: {color: series === null ? "var(--line)" : `var(--series-${series + 1})`}}), name);
}

function list(pairs, what, many) {
  const table = element("table", null, element("thead", null, element("tr", null, element("th", {scope: "col"}, what), element("th", {scope: "col", class: "number"}, many))), element("tbody", null));
  fill(table.tBodies[0], pairs.map(([name, number]) => element("tr", null, element("td", null, name), element("td", {class: "number"}, whole(number)))));
  return table;
}
