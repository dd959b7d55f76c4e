// "What am I looking at?": a dialog that explains the window, low..high, certified and burst with the reader's own numbers.

import {example} from "./example.js";
import {sections} from "./sections.js";
import {Failure} from "../lib/api.js";
import {element} from "../lib/element.js";
import {sentence} from "../lib/format.js";

const KEYS = [["?", "opens this"], ["/", "goes to the search field"], ["Tab", "reaches the table, the heat map and the chart"], ["arrow keys", "move between rows, cells and points; Enter opens or selects"], ["+ − 0", "zoom the chart of a key, and show all of it"], ["Escape", "closes this"]];

let dialog = null;

// Opens the dialog for the key of the address, or else for the first key of the overview. The browser keeps the focus in
// it, closes it with Escape, and gives the focus back.
export async function showGuide(address) {
  if (dialog === null) {
    dialog = element("dialog", {class: "guide", "aria-labelledby": "guide-title"});
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // the backdrop
    });
    document.body.append(dialog);
  }
  if (dialog.open) return;
  const content = element("div", {class: "content"}, element("p", {class: "soft"}, "Loading …"));
  dialog.replaceChildren(
    element("header", null, element("h2", {id: "guide-title"}, "What am I looking at?"), element("button", {type: "button", class: "end", onclick: () => dialog.close()}, "Close")),
    content,
    element("h3", null, "Keyboard"),
    element("dl", {class: "shortcuts small"}, KEYS.map(([name, text]) => [element("dt", null, element("kbd", null, name)), element("dd", null, text)])),
  );
  dialog.showModal();
  try {
    const shown = await example(address);
    content.replaceChildren(...sections(shown));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    content.replaceChildren(...sections(null), element("p", {class: "soft small"}, `${sentence(error.message)} ${sentence(error.whatToDo)}`));
  }
}
