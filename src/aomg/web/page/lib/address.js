// What a view shows is in its address, so that it can be shared, restored and gone back to.

import {queryText} from "./api.js";

export class Address {
  // go(href, push): how the page opens another address; given by app.js
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

  // All parameters whose names begin so: labels("where.") of where.podset=6 is {podset: "6"}.
  labels(prefix) {
    const found = {};
    for (const [name, value] of this.parameters) if (name.startsWith(prefix)) found[name.slice(prefix.length)] = value;
    return found;
  }

  // Changes parameters of this view; null or "" removes one. By default a step that the back button undoes; with
  // push = false it replaces the present one (typing, zooming). The view itself shows what changed.
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

// The address of a key's view. key: {podset: "6"}; a missing label (null) has no parameter of its own.
export function keyAddress(query, key, at = null) {
  const parameters = {query, at};
  for (const [name, value] of Object.entries(key)) if (value !== null) parameters[`key.${name}`] = value;
  return "/key" + queryText(parameters);
}
