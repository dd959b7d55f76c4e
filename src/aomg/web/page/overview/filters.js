// The controls above the table: queries, search, label filters, alerts, bursts, CSV. Their state is in the address.

import {queryText} from "../lib/api.js";
import {element, mark, write} from "../lib/element.js";
import {live} from "../lib/live.js";

const PAUSE = 150;
const MOST_SUGGESTED = 200;

// changed(changes, push) records changes in the address and reloads. Returns {bar, show, suggest, span, csv}.
export function filters(address, query, changed) {
  const queries = live.status.queries;
  const tabs = element("nav", {class: "queries", "aria-label": "Queries", hidden: queries.length < 2}, queries.map((one) =>
    element("a", {href: `/${queryText({query: one.name === queries[0].name ? "" : one.name})}`, "aria-current": one.name === query.name ? "page" : null}, one.name)));

  let timer = 0;
  function searched() {
    clearTimeout(timer);
    timer = 0;
    changed({search: search.value.trim()}, false);
  }
  const search = element("input", {
    type: "search", placeholder: "Search keys", "aria-label": "Search keys", autocomplete: "off", spellcheck: "false", maxlength: "200",
    oninput() {
      clearTimeout(timer);
      timer = setTimeout(searched, PAUSE);
    },
    // the field loses focus, perhaps to a button: apply what was typed first
    onchange: () => timer && searched(),
  });
  const labels = query.labels.map((label) => {
    const list = element("datalist", {id: `values-of-${label}`});
    const input = element("input", {
      list: list.id, placeholder: "any", autocomplete: "off", spellcheck: "false", maxlength: "500",
      onchange: () => changed({[`where.${label}`]: input.value}),
    });
    return {label, input, list, values: new Set(), whole: element("label", {class: "label"}, label, input, list)};
  });
  const toggle = (text, name, value, about) => element("button", {
    type: "button", title: about,
    onclick: () => changed({[name]: address.get(name) === "" ? value : null}),
  }, text);
  const alerting = toggle("Alerting only", "alert", "alerting", "Only keys with a firing or pending alert");
  const bursts = toggle("Bursts only", "burst", "true", "Only keys whose newest values have a larger tail than the values before");
  const highest = element("option", {value: "worst"}, "highest of the trend");
  const sort = element("select", {
    "aria-label": "Sort by",
    onchange: () => (sort.value === "worst" ? changed({rank: "span", order: null}) : changed({sort: sort.value, rank: null, order: null})),
  }, query.estimates.map((one) => element("option", {value: one.name}, one.title)), highest,
  element("option", {value: "width"}, "interval width"), element("option", {value: "count"}, "events"), element("option", {value: "alert"}, "state"), element("option", {value: "key"}, "key"));
  const trends = [["", "Same scale", "Trends of all keys have one scale: they can be compared"], ["own", "Own scale", "Each trend has its own scale: its shape is visible"]].map(([value, text, about]) =>
    element("button", {type: "button", title: about, "data-trend": value, onclick: () => changed({trend: value})}, text));
  const csv = element("a", {class: "button", download: "keys.csv", title: "All matching keys, not only the visible ones"}, "Download CSV");

  const bar = element("div", {class: "above"}, tabs,
    element("search", {class: "tools"}, search, labels.map((one) => one.whole), alerting, bursts, element("div", {class: "trends", role: "group", "aria-label": "Scale of the trends"}, element("span", {class: "soft small"}, "Trends"), element("div", {class: "choice"}, trends)), element("label", {class: "sort"}, "Sort by", sort)), csv);

  return {
    bar,
    // Shows the address's state; does not change a field that has the focus.
    show() {
      if (document.activeElement !== search && timer === 0) search.value = address.get("search");
      for (const one of labels) if (document.activeElement !== one.input) one.input.value = address.get(`where.${one.label}`);
      mark(alerting, "hidden", live.status.alerts === null && address.get("alert") === "");
      mark(alerting, "aria-pressed", String(!["", "any"].includes(address.get("alert"))));
      mark(bursts, "aria-pressed", String(address.get("burst") === "true"));
      for (const one of trends) mark(one, "aria-pressed", String(address.get("trend") === one.dataset.trend));
    },
    // Suggests the label values of the loaded rows.
    suggest(answer) {
      sort.value = answer.rank === "span" ? "worst" : answer.sort;
      for (const one of labels) {
        for (const row of answer.rows) {
          const value = row.key[one.label];
          if (value === null || value === undefined || value === "" || one.values.has(value) || one.values.size >= MOST_SUGGESTED) continue;
          one.values.add(value);
          one.list.append(element("option", {value}));
        }
      }
    },
    // The length of the trend: "15 min".
    span(long) {
      write(highest, long ? `highest in ${long}` : "highest of the trend");
    },
    csv(href) {
      mark(csv, "href", href);
    },
  };
}
