// The alerts view: firing, pending and resolved alerts, each with its interval and reason.

import {alertCard} from "./card.js";
import {asker, Failure, queryText, Superseded} from "../lib/api.js";
import {element, mark, notice, write} from "../lib/element.js";
import {live} from "../lib/live.js";
import {sentence, whole} from "../lib/format.js";

export const title = "Alerts";
const STATES = ["any", "firing", "pending", "resolved", "inactive"];
const NAMES = {any: "All", inactive: "never fired"};
const PAGE = 50;
const MOST = 500;

export async function open(place, address) {
  const view = new AlertsView(place, address);
  await view.start();
  return view;
}

class AlertsView {
  constructor(place, address) {
    this.place = place;
    this.address = address;
    this.ask = asker();
    this.limit = PAGE;
    this.cards = new Map();
  }

  get request() {
    const {address} = this;
    const state = STATES.includes(address.get("state")) ? address.get("state") : "any";
    const labels = [...address.parameters].filter(([name]) => name.startsWith("key."));
    return {state: state === "any" ? null : state, search: address.get("search"), query: address.get("query"), ...Object.fromEntries(labels)};
  }

  async start() {
    if (live.status?.alerts === null) {
      this.place.replaceChildren(notice("Alerts are not available", "Only a folder of results is served, and alerts are stored elsewhere. To see them, serve the monitor's configuration:", element("p", null, element("code", null, "aomg web CONFIG.yaml"))));
      return;
    }
    this.chips = STATES.map((state) => element("button", {type: "button", "data-state": state, onclick: () => this.change({state: state === "any" ? null : state})}, state === "any" ? null : element("span", {class: "mark", "data-state": state, "aria-hidden": "true"}), element("span", null, NAMES[state] ?? state), " ", element("b")));
    this.search = element("input", {type: "search", placeholder: "Rule, label or reason", "aria-label": "Search alerts", value: this.address.get("search"), maxlength: 200, oninput: () => this.typed()});
    this.csv = element("a", {class: "button", download: true}, "CSV");
    this.filter = element("p", {class: "soft small", hidden: true});
    this.count = element("p", {class: "soft small", role: "status"});
    this.list = element("div", {class: "alert-list"});
    this.more = element("button", {type: "button", hidden: true, onclick: () => this.showMore()}, "Show more");
    this.place.replaceChildren(element("div", {class: "alerts-view"}, element("h1", {class: "unseen"}, "Alerts"), element("div", {class: "tools"}, element("div", {class: "choice", role: "group", "aria-label": "State"}, this.chips), this.search, this.csv), this.filter, this.count, this.list, this.more));
    await this.load();
  }

  async load() {
    const answer = await this.ask("/api/alerts", {...this.request, limit: this.limit}, "alerts");
    this.show(answer);
  }

  show({counts, matching, alerts}) {
    const {state, query, search, ...labels} = this.request;
    for (const chip of this.chips) {
      const own = chip.dataset.state;
      mark(chip, "aria-pressed", String(own === (state ?? "any")));
      write(chip.querySelector("b"), whole(own === "any" ? counts.firing + counts.pending + counts.resolved : counts[own] ?? 0));
      mark(chip, "hidden", own === "inactive" && !counts.inactive && state !== "inactive");
    }
    if (document.activeElement !== this.search) this.search.value = search;
    this.csv.href = "/api/alerts.csv" + queryText(this.request);
    const only = [query && `query ${query}`, ...Object.entries(labels).map(([name, value]) => `${name.slice(4)} ${value}`)].filter(Boolean);
    this.filter.hidden = only.length === 0;
    this.filter.replaceChildren(`Only ${only.join(", ")}. `, element("a", {href: "/alerts" + queryText({state, search})}, "Show all"));
    const fired = counts.fired ? `${whole(counts.fired)} ${counts.fired === 1 ? "alert" : "alerts"} fired so far. ` : "";
    const about = state === "inactive" ? "These conditions held, but not for long enough to fire." : fired;
    write(this.count, about + (matching === alerts.length ? "" : `${whole(alerts.length)} of ${whole(matching)} shown.`));
    this.more.hidden = alerts.length >= matching || this.limit >= MOST;
    if (alerts.length === 0) {
      this.cards.clear();
      this.list.replaceChildren(this.none(counts, state, search, only));
      return;
    }
    this.place.querySelector(".none")?.remove();
    // unchanged cards keep their elements, with focus and selection
    const cards = new Map();
    for (const alert of alerts) {
      const content = JSON.stringify([alert, Math.floor(Date.parse(live.status?.now) / 5000)]);
      const old = this.cards.get(alert.id);
      cards.set(alert.id, old && (old.content === content || old.card.contains(document.activeElement)) ? old : {content, card: alertCard(alert)});
    }
    this.cards = cards;
    const wanted = [...cards.values()].map((item) => item.card);
    wanted.forEach((card, index) => {
      if (this.list.children[index] !== card) this.list.insertBefore(card, this.list.children[index] ?? null);
    });
    while (this.list.children.length > wanted.length) this.list.lastChild.remove();
  }

  none(counts, state, search, only) {
    const all = counts.firing + counts.pending + counts.resolved;
    if (all === 0 && !search && !only.length && live.status?.starting) return element("div", {class: "none"}, element("h2", null, "No alerts yet"), element("p", {class: "soft"}, "Rules are evaluated from the first window on."));
    if (all === 0 && !search && !only.length) return element("div", {class: "none"}, element("h2", null, "No alerts"), element("p", {class: "soft"}, "No rule has fired yet. Rules are in the configuration, under groups; aomg check validates them."));
    const what = state === "inactive" ? "Every alert that was pending has fired." : search || only.length ? `No ${state ?? ""} alert matches.`.replace("  ", " ") : `No alert is ${state}.`;
    return element("div", {class: "none"}, element("h2", null, what), element("p", {class: "soft"}, `There are ${whole(counts.firing)} firing, ${whole(counts.pending)} pending and ${whole(counts.resolved)} resolved.`), element("p", null, element("a", {href: "/alerts"}, "Show all")));
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.change({search: this.search.value}, false), 150);
  }

  async showMore() {
    this.limit = Math.min(this.limit + PAGE, MOST);
    await this.refresh();
  }

  async change(changes, push = true) {
    this.address.change(changes, push);
    this.limit = PAGE;
    await this.refresh();
  }

  async moved() {
    if (this.search) this.search.value = this.address.get("search");
    await this.refresh();
  }

  async refresh() {
    try {
      if (this.list) await this.load();
      else if (live.status?.alerts) await this.start();
    } catch (error) {
      if (error instanceof Failure) write(this.count, `${sentence(error.message)} ${sentence(error.whatToDo)}`);
      else if (!(error instanceof Superseded)) throw error;
    }
  }

  close() {
    clearTimeout(this.timer);
    this.ask.end();
  }
}
