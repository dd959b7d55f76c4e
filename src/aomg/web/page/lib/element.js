// Creates and updates elements. Strings become text nodes, never HTML: a label in the data cannot inject anything.

const OF_SVG = new Set(["svg", "path", "circle", "line", "rect", "g", "polyline"]);

// element("a", {class: "name", href: "/key", onclick: open}, "text", otherElement, null)
// Properties that are null, undefined or false are left out; true is an empty attribute; on... are listeners;
// `style` is an object of CSS properties (set one by one: the content security policy forbids style attributes).
export function element(tag, properties, ...children) {
  const node = OF_SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    else node.setAttribute(name, value === true ? "" : value);
  }
  fill(node, children);
  return node;
}

// Appends texts and elements, also in lists; null, undefined and false are left out.
export function fill(place, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    place.append(child instanceof Node ? child : String(child));
  }
}

// Writes text only if it differs, into the existing text node: a selection in unchanged text stays.
export function write(place, text) {
  const node = place.firstChild;
  if (node !== null && node.nodeType === Node.TEXT_NODE && node === place.lastChild) {
    if (node.data !== text) node.data = text;
  } else if (text !== "" || node !== null) place.textContent = text;
}

// Sets or removes an attribute, only if it differs.
export function mark(place, name, value) {
  if (value === null || value === undefined || value === false) {
    if (place.hasAttribute(name)) place.removeAttribute(name);
  } else {
    const text = value === true ? "" : String(value);
    if (place.getAttribute(name) !== text) place.setAttribute(name, text);
  }
}

// A message in place of content: what happened, and what to do.
export function notice(title, text, ...more) {
  return element("section", {class: "notice"}, element("h1", null, title), text ? element("p", null, text) : null, ...more);
}
