// Entry point: header, banners, and the view of each address.
//
// A view is a module with
//     export const title = "Alerts";                       (optional: for the window's title)
//     export async function open(place, address) -> {refresh(), close(), moved()?}
// place: the view's own element, which it fills with replaceChildren(). address: see address.js; address.change() records
// what the view shows.
// refresh(): there is new data; may be async, is not called again before it is done, and keeps scroll position, focus and
// selection. close(): end requests, listeners and plots. moved(): the address changed by back or forward, with the same
// path; without it the view is closed and reopened. When open() is called, live.status is set.
// Links (<a href="/key?...">) open views without reloading the page; address.open(href) does the same from code.

import {Address} from "./lib/address.js";
import {Failure, Superseded} from "./lib/api.js";
import {element, mark, notice, write} from "./lib/element.js";
import {listen, live, status, watch} from "./lib/live.js";
import {isUtc, offset, sentence, staleTitle, zone} from "./lib/format.js";
import {dueText} from "./lib/start.js";
import {themeSwitch} from "./lib/theme_switch.js";

const VIEWS = {
  "/": () => import("./overview/overview.js"),
  "/key": () => import("./key/key.js"),
  "/alerts": () => import("./alerts/alerts.js"),
  "/health": () => import("./health/health.js"),
};

const place = document.getElementById("place");
const address = new Address(go);
let view = null;
let viewElement = null; // the element of the view that is open, or being opened
let shownPath = null;
let opening = 0;
let refreshing = false;
let again = false;

async function show() {
  const mine = ++opening;
  address.read();
  if (view !== null && shownPath === address.path && view.moved) {
    view.moved();
    return;
  }
  // a view that is still being opened is removed at once: it may finish later, unseen
  if (view === null) viewElement?.remove();
  close();
  shownPath = address.path;
  header(); // its banners depend on the view
  for (const link of document.querySelectorAll("#views a")) {
    mark(link, "aria-current", new URL(link.href).pathname === address.path ? "page" : null);
  }
  const load = VIEWS[address.path];
  if (load === undefined) {
    place.replaceChildren(notice("Page not found", `There is no page at ${address.path}.`, element("p", null, element("a", {href: "/"}, "Go to the overview"))));
    return;
  }
  try {
    const [module] = await Promise.all([load(), live.status ?? status()]);
    if (mine !== opening) return;
    viewElement = element("div", {class: "view"}, element("p", {class: "waiting"}, "Loading …"));
    place.replaceChildren(viewElement);
    name(module.title);
    const opened = await module.open(viewElement, address);
    if (mine === opening) view = opened;
    else opened?.close();
  } catch (error) {
    if (mine === opening && !(error instanceof Superseded)) failed(error);
  }
}

function close() {
  view?.close();
  view = null;
}

function failed(error) {
  close();
  shownPath = null;
  if (!(error instanceof Failure)) console.error(error);
  const known = error instanceof Failure;
  place.replaceChildren(notice(
    known ? sentence(error.message) : "This view failed",
    known ? sentence(error.whatToDo) : "Reload the page. If it fails again, the browser's console has the details.",
    element("p", null, error.status === 401 ? element("a", {href: logIn(), "data-leave": true}, "Log in") : element("button", {type: "button", onclick: show}, "Try again")),
  ));
}

function name(title) {
  const served = live.status?.title;
  document.title = [title, served, "AOMG"].filter(Boolean).join(" · ");
}

function go(href, push = true) {
  if (href !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", href);
  const path = shownPath;
  show();
  if (path !== address.path) {
    scrollTo(0, 0);
    place.focus({preventScroll: true});
  }
}

// The view alone: the status is new already.
async function redraw() {
  try {
    await view?.refresh();
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
  }
}

async function refresh() {
  if (document.hidden) return;
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  try {
    do {
      again = false;
      await status();
      // a view that failed to open is tried again as soon as the server responds
      if (shownPath === null) await show();
      else await view?.refresh();
    } while (again);
  } catch (error) {
    // a server that does not respond is visible in the connection's state
    if (!(error instanceof Failure)) console.error(error);
  } finally {
    refreshing = false;
  }
}

// -- Header and banners ------------------------------------------------------------------------------------------------

const banners = document.getElementById("banners");

// logInText: the text of a link to the login page, or "".
function banner(kind, title, text, logInText = "") {
  return {kind, title, text: text ?? "", logInText};
}

function header() {
  const known = live.status;
  const connection = document.getElementById("connection");
  mark(connection, "data-state", live.state);
  write(connection, {live: "connected", connecting: "connecting", lost: "reconnecting"}[live.state]);
  const data = document.getElementById("data");
  const [state, text, about] = known ? dataState(known) : ["", "", ""];
  mark(data, "hidden", text === "");
  mark(data, "data-state", state);
  mark(data, "title", about);
  write(data, text);
  if (known) {
    write(document.getElementById("title"), known.title || "AOMG");
    const many = (known.alerts?.firing ?? 0) + (known.alerts?.pending ?? 0);
    const count = document.getElementById("alerting");
    mark(count, "hidden", many === 0);
    write(count, String(many));
    mark(count, "data-state", known.alerts?.firing > 0 ? "firing" : "pending");
    mark(count, "aria-label", many === 0 ? null : `${known.alerts.firing} firing, ${known.alerts.pending} pending`);
    mark(count, "role", many === 0 ? null : "img");
  }
  const wanted = [];
  if (live.failure?.status === 401) {
    wanted.push(banner("lost", "You are logged out: the token changed, or your login expired.", "This page shows the last data it received.", "Log in again"));
  } else if (live.state === "lost") {
    wanted.push(banner("lost", "The server does not respond.", "This page shows the last data it received, and reconnects by itself. Check that aomg is still running."));
  }
  const loading = known?.loading;
  if (loading && loading.done < loading.of) {
    wanted.push(banner("loading", "Reading stored results:", `${loading.done} of ${loading.of} files, newest windows first.`));
  }
  if (known?.stale) {
    wanted.push(banner("stale", staleTitle(known.stale), [known.stale.because, known.stale.what_to_do].filter(Boolean).map(sentence).join(" ")));
  }
  // the overview and health say it themselves
  if (known?.starting && live.state !== "lost" && (known.queries.some((one) => one.windows > 0) || !["/", "/health"].includes(shownPath))) {
    wanted.push(banner("start", "The monitor is starting.", [sentence(known.starting.what), dueText(known.starting, known.now)].filter(Boolean).join(" ")));
  }
  // the stale banner covers the note
  if (known?.note && !known.stale) wanted.push(banner("note", "", sentence(known.note)));
  for (const problem of known?.problems ?? []) wanted.push(banner("problem", "Problem:", problem));
  while (banners.children.length > wanted.length) banners.lastChild.remove();
  wanted.forEach((one, position) => {
    let line = banners.children[position];
    if (line === undefined) {
      line = element("p", {class: "banner"}, element("strong"), element("span"), element("a", {"data-leave": true, onclick: (event) => { event.currentTarget.href = logIn(); }}));
      banners.append(line);
    }
    mark(line, "data-kind", one.kind);
    write(line.children[0], one.title);
    write(line.children[1], one.text);
    mark(line.children[2], "href", one.logInText === "" ? null : logIn());
    mark(line.children[2], "hidden", one.logInText === "");
    write(line.children[2], one.logInText);
    mark(line, "aria-live", ["note", "start"].includes(one.kind) ? "off" : null); // its durations change all the time: not to be read out
  });
}

// What the data is, whatever the connection does: [state, word, tooltip].
function dataState(known) {
  if (known.loading.done < known.loading.of) return ["connecting", "loading", "The server reads stored results"];
  if (known.stale) return ["stale", "stale", "New results are overdue"];
  if (known.starting) return ["connecting", "starting", "The monitor is starting"];
  if (known.live) return ["live", "live", "The monitor is running; new windows appear by themselves"];
  return ["stored", "stored results", "No monitor is running: the results do not change"];
}

// The server redirects to /login, and from there back to this view.
function logIn() {
  return location.pathname + location.search;
}

function zoneNote() {
  const note = document.getElementById("zone");
  note.textContent = isUtc ? "Times in UTC" : `Times in ${zone.replaceAll("_", " ").split("/").pop()} (${offset()})`;
  note.title = isUtc ? "Your time zone is UTC" : `Your time zone: ${zone}. Hover over a time to see it in UTC.`;
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest("a[href]");
  if (!link || link.origin !== location.origin || link.target || link.hasAttribute("download") || link.hasAttribute("data-leave")) return;
  if (!(link.pathname in VIEWS) || (link.hash && link.pathname === location.pathname)) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
addEventListener("popstate", show);

// "?" explains what is shown, "/" goes to the search field.
document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
  const search = event.key === "/" ? place.querySelector("input[type=search]") : null;
  if (search === null && event.key !== "?") return;
  event.preventDefault();
  if (search !== null) search.select();
  else openGuide(address);
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-guide]")) openGuide(address);
});

async function openGuide(address) {
  const {showGuide} = await import("./guide/guide.js");
  await showGuide(address);
}

let step = "";

listen((what) => {
  if (what === "changed") {
    refresh();
    return;
  }
  header();
  // a start has no events: views show its steps
  const now = JSON.stringify(live.status?.starting ?? null);
  if (what === "status" && now !== step && !refreshing) redraw();
  step = now;
});
zoneNote();
themeSwitch(document.getElementById("theme"));
header();
show();
watch();
