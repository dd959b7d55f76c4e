// The page of a key: its elements, and what stands in them. The plot itself is drawn by figure.js.

import {keyAddress} from "../lib/address.js";
import {alertLine} from "../alerts/card.js";
import {queryText} from "../lib/api.js";
import {element, fill, mark} from "../lib/element.js";
import {histogramPanel} from "./histogram.js";
import {keyCards} from "./cards.js";
import {METHODS, methodsIn, methodStyle} from "./styles.js";
import {keyTable} from "./table.js";
import {sample} from "./tip.js";
import {live} from "../lib/live.js";
import {duration, keyText, stateMark, when} from "../lib/format.js";
import {rangeButtons} from "../lib/time_range.js";

export class KeyPage {
  // asked: see request.js; act: {range(name), scale(), toggle(estimate)}, what the buttons do
  constructor(place, asked, act) {
    this.asked = asked;
    this.act = act;
    this.heading = element("h1");
    this.about = element("p", {class: "soft about"});
    this.siblings = element("p", {class: "soft about"});
    this.active = element("div", {class: "active"});
    this.cards = element("dl", {class: "cards"});
    this.ranges = rangeButtons(act.range);
    this.scale = element("button", {type: "button", onclick: act.scale}, "Log scale");
    this.csv = element("a", {class: "button", download: true}, "CSV");
    this.legend = element("div", {class: "legend", role: "group", "aria-label": "Lines shown"});
    this.figure = element("div", {class: "plot key-plot", tabindex: "0", role: "application", "aria-label": "Quantiles over time", "aria-describedby": "key-help"});
    this.tip = element("div", {class: "tip", hidden: true, role: "status"});
    this.cursor = element("div", {class: "cursor", hidden: true});
    this.nothing = element("div", {class: "nothing", hidden: true});
    this.methods = element("ul", {class: "methods small"});
    this.note = element("p", {class: "soft small told", id: "key-help"});
    this.past = element("ul", {class: "lines"});
    this.table = keyTable();
    const bars = element("section", {class: "panel histogram", "aria-labelledby": "histogram-title"});
    this.histogram = histogramPanel(bars);
    place.replaceChildren(element("div", {class: "key-view"},
      element("header", null, element("nav", {class: "crumbs small", "aria-label": "Where this is"}, element("a", {href: "/" + queryText({query: asked.name})}, asked.name), " /"), this.heading, this.about, this.siblings),
      this.active, this.cards,
      element("section", {class: "panel", "aria-label": "Over time"}, element("div", {class: "head tools"}, this.ranges.place, this.scale, this.csv), this.legend,
        element("div", {class: "picture"}, this.figure, this.nothing, this.cursor, this.tip), this.methods, this.note),
      element("div", {class: "pair"}, bars, element("section", {class: "panel past", "aria-labelledby": "past-title"}, element("h2", {id: "past-title"}, "Alerts of this key"), this.past)),
      this.table.place,
    ));
  }

  show() {
    const {asked} = this;
    const {data, told} = asked;
    const unit = (name) => asked.unit(name);
    document.title = [keyText(data.key), asked.name, live.status?.title, "AOMG"].filter(Boolean).join(" · ");
    const firing = asked.alerts.filter((alert) => alert.state === "firing" || alert.state === "pending");
    this.showHeading([...new Set(firing.map((alert) => alert.state))]);
    this.showAbout();
    this.showSiblings();
    this.cards.replaceChildren(...keyCards(told.data, told.index, unit));
    this.active.replaceChildren(...firing.map((alert) => alertLine(alert)));
    this.showPast(asked.alerts.filter((alert) => alert.state === "resolved"));
    this.ranges.show(asked.range);
    mark(this.scale, "aria-pressed", String(asked.log));
    this.csv.href = asked.csv.key;
    this.showLegend();
    this.showMethods();
    this.showNothing();
    // as the server chooses: by the highest quantile, else by the first estimate
    const chosen = data.estimates.findLast((one) => unit(one.name) !== "share") ?? data.estimates[0];
    const each = data.windows_per_point > 1 ? `A point stands for ${data.windows_per_point} windows: that with the highest ${chosen?.title ?? "value"}. ` : "";
    this.note.replaceChildren(`${each}Drag to zoom, double click for all; press a point for its histogram. `, element("span", {class: "keyboard"}, "With the keyboard: arrows go from point to point, + and − zoom, 0 shows all, Enter takes the point."));
    this.table.show(data, unit);
  }

  showHeading(states) {
    const {data, told} = this.asked;
    const marks = [...states, ...(told.index !== null && told.data.bursts[told.index] ? ["burst"] : []), ...(data.silent ? ["silent"] : [])];
    const signature = JSON.stringify([data.key, marks]);
    if (this.heading.dataset.shown === signature) return;
    this.heading.dataset.shown = signature;
    this.heading.replaceChildren(keyText(data.key, true));
    fill(this.heading, marks.map((state) => [" ", stateMark(state)]));
  }

  showAbout() {
    const {query, told, data, at, address, name} = this.asked;
    const windows = [query?.size_seconds && `windows of ${duration(query.size_seconds)}`, query?.period_seconds && `every ${duration(query.period_seconds)}`].filter(Boolean).join(", ");
    const taken = !Number.isNaN(at);
    const end = told.index === null ? null : when(told.data.ends[told.index], true);
    const missing = [taken ? ["No window of this key that ended ", when(new Date(at).toISOString(), true), " is in memory; its newest ended "] : "Its newest window ended ", when(data.newest_end, true), "."];
    this.about.replaceChildren();
    fill(this.about, [
      windows ? `${capital(windows)}. ` : "", end === null ? missing : [taken ? "Shown: the window that ended " : "Newest window ended ", end, "."],
      data.silent && !taken ? ` It is silent since then: newer windows of ${name} lack it.` : null,
      taken ? [" ", element("a", {href: here(address, {at: null, from: null, to: null})}, "Show the newest")] : null,
    ]);
  }

  showSiblings() {
    const {query, data, name, address} = this.asked;
    const others = (live.status?.queries ?? []).filter((other) => other.name !== name && same(other.labels, query?.labels ?? []));
    const kept = Object.fromEntries(["from", "to", "last", "scale", "at"].map((one) => [one, address.get(one)]));
    this.siblings.hidden = others.length === 0;
    this.siblings.replaceChildren("The same key in ");
    fill(this.siblings, others.flatMap((other, at) => [at ? ", " : null, element("a", {href: keyAddress(other.name, data.key) + queryText(kept).replace("?", "&")}, other.name)]));
  }

  showPast(alerts) {
    const none = live.status?.alerts ? "None is over yet: those that fire or may are above." : "Alerts are not known here: only a folder of results is served. Serve the configuration instead: aomg web CONFIG.yaml.";
    this.past.replaceChildren(...(alerts.length ? alerts.map((alert) => element("li", null, alertLine(alert))) : [element("li", {class: "soft"}, none)]));
  }

  showLegend() {
    const {hidden, data, styles} = this.asked;
    const names = data.estimates.map((estimate) => estimate.name).join();
    if (this.legend.dataset.names !== names) {
      this.legend.dataset.names = names;
      this.legend.replaceChildren(...data.estimates.map((estimate) => {
        const {number, dash, width: thick} = styles[estimate.name];
        return element("button", {type: "button", class: "quiet", "data-estimate": estimate.name, onclick: () => this.act.toggle(estimate.name)}, sample(`series-${number + 1}`, dash, thick), estimate.title);
      }), element("span", {class: "small soft"}, "shaded: low..high, which always holds the exact value"), stateMark("burst"));
    }
    for (const button of this.legend.querySelectorAll("button")) mark(button, "aria-pressed", String(!hidden.has(button.dataset.estimate)));
  }

  showMethods() {
    const methods = methodsIn(this.asked.data);
    if (this.methods.dataset.names === methods.join()) return;
    this.methods.dataset.names = methods.join();
    this.methods.replaceChildren(...methods.map((name) => {
      const {dash, series} = methodStyle(name);
      return element("li", null, sample(`series-${series + 1}`, dash, 7), element("b", null, name), METHODS[name] ? ` ${METHODS[name].said}` : null);
    }));
  }

  // In place of lines, where the time that is shown has none.
  showNothing() {
    const empty = this.asked.inView().length === 0;
    mark(this.nothing, "hidden", !empty);
    if (!empty) return;
    this.nothing.replaceChildren(
      element("p", null, element("strong", null, "No window in this time."), " The newest of this key ended ", when(this.asked.data.newest_end, true), "."),
      element("p", null, element("button", {type: "button", onclick: () => this.act.range("all")}, "Show all there is")),
    );
  }
}

function here(address, changes) {
  const parameters = new URLSearchParams(address.parameters);
  for (const [name, value] of Object.entries(changes)) value === null ? parameters.delete(name) : parameters.set(name, value);
  return "/key" + queryText(parameters);
}

function same(one, other) {
  return one.length === other.length && [...one].sort().join("\u0000") === [...other].sort().join("\u0000");
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
