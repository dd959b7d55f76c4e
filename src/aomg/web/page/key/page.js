// The elements of a key's view and their content. figure.js draws the plot.

import {keyAddress} from "../lib/address.js";
import {alertLine} from "../alerts/card.js";
import {queryText} from "../lib/api.js";
import {element, fill, mark, write} from "../lib/element.js";
import {histogramPanel} from "./histogram.js";
import {keyCards, reading} from "./cards.js";
import {METHODS, methodsIn, methodStyle} from "./styles.js";
import {keyTable} from "./table.js";
import {sample} from "./tip.js";
import {live} from "../lib/live.js";
import {duration, keyText, stateMark, when, width} from "../lib/format.js";
import {rangeButtons} from "../lib/time_range.js";

export class KeyPage {
  // request: see request.js; act: {range(name), scale(), toggle(estimate)}, the buttons' actions
  constructor(place, request, act) {
    this.request = request;
    this.act = act;
    this.heading = element("h1");
    this.about = element("p", {class: "soft about"});
    this.siblings = element("p", {class: "soft about"});
    this.active = element("div", {class: "active"});
    this.cards = element("dl", {class: "cards"});
    this.reading = element("p", {class: "soft small reading"});
    this.ranges = rangeButtons(act.range);
    this.scale = element("button", {type: "button", onclick: act.scale}, "Log scale");
    this.csv = element("a", {class: "button", download: true}, "CSV");
    this.legend = element("div", {class: "legend", role: "group", "aria-label": "Lines shown"});
    this.figure = element("div", {class: "plot key-plot", tabindex: "0", role: "application", "aria-label": "Quantiles over time", "aria-describedby": "key-help"});
    this.tip = element("div", {class: "tip", hidden: true, role: "status"});
    this.cursor = element("div", {class: "cursor", hidden: true});
    this.nothing = element("div", {class: "nothing", hidden: true});
    this.methods = element("ul", {class: "methods small"});
    this.note = element("p", {class: "soft small caption", id: "key-help"});
    this.past = element("ul", {class: "lines"});
    this.table = keyTable();
    const bars = element("section", {class: "panel histogram", "aria-labelledby": "histogram-title"});
    this.histogram = histogramPanel(bars);
    place.replaceChildren(element("div", {class: "key-view"},
      element("header", null, element("nav", {class: "crumbs small", "aria-label": "Breadcrumb"}, element("a", {href: "/" + queryText({query: request.name})}, request.name), " /"), this.heading, this.about, this.siblings),
      this.active, this.cards, this.reading,
      element("section", {class: "panel", "aria-label": "Over time"}, element("div", {class: "head tools"}, this.ranges.place, this.scale, this.csv), this.legend,
        element("div", {class: "picture"}, this.figure, this.nothing, this.cursor, this.tip), this.methods, this.note),
      element("div", {class: "pair"}, bars, element("section", {class: "panel past", "aria-labelledby": "past-title"}, element("h2", {id: "past-title"}, "Resolved alerts of this key"), this.past)),
      this.table.place,
    ));
  }

  show() {
    const {request} = this;
    const {data, selected} = request;
    const unit = (name) => request.unit(name);
    document.title = [keyText(data.key), request.name, live.status?.title, "AOMG"].filter(Boolean).join(" · ");
    const firing = request.alerts.filter((alert) => alert.state === "firing" || alert.state === "pending");
    this.showHeading([...new Set(firing.map((alert) => alert.state))]);
    this.showAbout();
    this.showSiblings();
    this.cards.replaceChildren(...keyCards(selected.data, selected.index, unit));
    const explained = reading(selected.data, selected.index);
    mark(this.reading, "hidden", explained === "");
    this.reading.replaceChildren(`${explained} `, element("button", {type: "button", class: "link", "data-guide": true}, "What am I looking at?"));
    this.active.replaceChildren(...firing.map((alert) => alertLine(alert)));
    this.showPast(request.alerts.filter((alert) => alert.state === "resolved"));
    this.ranges.show(request.range);
    mark(this.scale, "aria-pressed", String(request.log));
    this.csv.href = request.csv.key;
    this.showLegend();
    this.showMethods();
    this.showNothing();
    // the server's choice: the highest quantile, or else the first estimate
    const chosen = data.estimates.findLast((one) => unit(one.name) !== "share") ?? data.estimates[0];
    const each = data.windows_per_point > 1 ? `Each point covers ${data.windows_per_point} windows and shows the one with the highest ${chosen?.title ?? "value"}. ` : "";
    this.note.replaceChildren(`${each}Drag to zoom in, double-click to show all, click a point to see its histogram. `, element("span", {class: "keyboard"}, "Keyboard: arrow keys move between points, + and − zoom, 0 shows all, Enter selects the point."));
    this.table.show(data, unit);
  }

  showHeading(states) {
    const {data, selected} = this.request;
    const marks = [...states, ...(selected.index !== null && selected.data.bursts[selected.index] ? ["burst"] : []), ...(data.silent ? ["silent"] : [])];
    const signature = JSON.stringify([data.key, marks]);
    if (this.heading.dataset.shown === signature) return;
    this.heading.dataset.shown = signature;
    this.heading.replaceChildren(keyText(data.key, true));
    fill(this.heading, marks.map((state) => [" ", stateMark(state)]));
  }

  showAbout() {
    const {query, selected, data, windowEnd, address, name} = this.request;
    const windows = [query?.size_seconds && `windows of ${duration(query.size_seconds)}`, query?.period_seconds && `every ${duration(query.period_seconds)}`].filter(Boolean).join(", ");
    const isChosen = !Number.isNaN(windowEnd);
    const end = selected.index === null ? null : when(selected.data.ends[selected.index], true);
    const missing = [isChosen ? ["This key has no window in memory that ended ", when(new Date(windowEnd).toISOString(), true), "; its newest ended "] : "Its newest window ended ", when(data.newest_end, true), "."];
    this.about.replaceChildren();
    fill(this.about, [
      windows ? `${capital(windows)}. ` : "", end === null ? missing : [isChosen ? "Selected: the window that ended " : "The newest window ended ", end, "."],
      data.silent && !isChosen ? ` The key has been silent since: newer windows of ${name} do not have it.` : null,
      isChosen ? [" ", element("a", {href: here(address, {at: null, from: null, to: null})}, "Show the newest window")] : null,
    ]);
  }

  showSiblings() {
    const {query, data, name, address} = this.request;
    const others = (live.status?.queries ?? []).filter((other) => other.name !== name && same(other.labels, query?.labels ?? []));
    const carried = Object.fromEntries(["from", "to", "last", "scale", "at"].map((one) => [one, address.get(one)]));
    this.siblings.hidden = others.length === 0;
    this.siblings.replaceChildren("The same key in ");
    fill(this.siblings, others.flatMap((other, index) => [index ? ", " : null, element("a", {href: keyAddress(other.name, data.key) + queryText(carried).replace("?", "&")}, other.name)]));
  }

  showPast(alerts) {
    const none = live.status?.alerts ? "None yet. Firing and pending alerts are at the top of this page." : "Alerts are not available: only a folder of results is served. Serve the configuration instead: aomg web CONFIG.yaml.";
    this.past.replaceChildren(...(alerts.length ? alerts.map((alert) => element("li", null, alertLine(alert))) : [element("li", {class: "soft"}, none)]));
  }

  showLegend() {
    const {hidden, data, styles} = this.request;
    const names = data.estimates.map((estimate) => estimate.name).join();
    if (this.legend.dataset.names !== names) {
      this.legend.dataset.names = names;
      this.legend.replaceChildren(...data.estimates.map((estimate) => {
        const {number, dash, width: thick} = styles[estimate.name];
        return element("button", {type: "button", class: "quiet", "data-estimate": estimate.name, onclick: () => this.act.toggle(estimate.name)}, sample(`series-${number + 1}`, dash, thick), estimate.title);
      }), this.band = element("span", {class: "small soft"}), stateMark("burst"), this.shared = element("span", {class: "mark", "data-state": "burst", "data-shared": true, hidden: true}, "shared burst: at least half of all keys have one at once, so they share a cause"));
    }
    mark(this.shared, "hidden", !data.shared_bursts.some(Boolean));
    for (const button of this.legend.querySelectorAll("button")) mark(button, "aria-pressed", String(!hidden.has(button.dataset.estimate)));
  }

  // bands: see figure.js. A band that is thinner than its line cannot be seen.
  showBand({thin, visible, widest}) {
    const names = thin.length === visible.length ? "" : ` of ${thin.map((estimate) => estimate.title).join(", ")}`;
    const hidden = thin.length === 0 ? "" : `;${names} here thinner than the line: at most ${width(widest, false)} of the value`;
    write(this.band, visible.length === 0 ? "" : `shaded: interval that contains the exact value${hidden}`);
  }

  showMethods() {
    const methods = methodsIn(this.request.data);
    if (this.methods.dataset.names === methods.join()) return;
    this.methods.dataset.names = methods.join();
    this.methods.replaceChildren(...methods.map((name) => {
      const {dash, series} = methodStyle(name);
      return element("li", null, sample(`series-${series + 1}`, dash, 7), element("b", null, name), METHODS[name] ? ` ${METHODS[name].meaning}` : null);
    }));
  }

  // In place of lines, if there are none in the displayed time.
  showNothing() {
    const empty = this.request.inView().length === 0;
    mark(this.nothing, "hidden", !empty);
    if (!empty) return;
    this.nothing.replaceChildren(
      element("p", null, element("strong", null, "No windows in this time range."), " The key's newest window ended ", when(this.request.data.newest_end, true), "."),
      element("p", null, element("button", {type: "button", onclick: () => this.act.range("all")}, "Show all windows")),
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
