// The state of a view is in its address: it can be shared, restored, and reached with the back button.

import {queryText} from "./api.js";

export class Address {
  // go(href, push): opens another address; from app.js
  constructor(go) {
    this.open = go;
    this.read();
  }

  read() {
    this.path = location.pathname;
    this.parameters = new URLSearchParams(location.search);
  }

  get(name, otherwise = "") {
    return this.parameters.get(name) ?? otherwise;
  }

  // All parameters with a prefix: labels("where.") of where.podset=6 is {podset: "6"}.
  labels(prefix) {
    const labels = {};
    for (const [name, value] of this.parameters) if (name.startsWith(prefix)) labels[name.slice(prefix.length)] = value;
    return labels;
  }

  // Changes parameters of this view; null or "" removes one. By default the back button undoes it; push = false replaces
  // the current history item (typing, zooming). The view itself shows the change.
  change(changes, push = true) {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "" || value === false) this.parameters.delete(name);
      else this.parameters.set(name, value);
    }
    const href = this.href(this.path, this.parameters);
    if (href === location.pathname + location.search) return;
    history[push ? "pushState" : "replaceState"](null, "", href);
  }

  href(path, parameters) {
    return path + queryText(parameters);
  }
}

// The address of a key's view. key: {podset: "6"}; a missing label value (null) has no parameter.
export function keyAddress(query, key, end = null) {
  const parameters = {query, at: end};
  for (const [name, value] of Object.entries(key)) if (value !== null) parameters[`key.${name}`] = value;
  return "/key" + queryText(parameters);
}
