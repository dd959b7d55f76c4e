// Keeps the event stream open, notifies listeners of new data, and tracks the connection's state.

import {asker, Failure, Superseded} from "./api.js";
import {Stream} from "./stream.js";

const LOOK_EVERY = 10000;
const LOOK_EVERY_AT_START = 2000;
const LATE_AFTER = 1000;

// live.status: the newest /api/status; live.state: "connecting", "live" or "lost"; live.failure: why the last request for
// the status failed, or null; live.version: the newest version that the server reported.
export const live = {status: null, state: "connecting", failure: null, version: null};

const ask = asker();
const listeners = new Set();
const stream = new Stream(hear);
let asking = null;

// Calls back with "changed" (there is new data), "status" (live.status is newer) or "state" (of the connection).
export function listen(callback) {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

function notify(change) {
  for (const callback of [...listeners]) callback(change);
}

// The newest status. Calls during a pending request wait for that one.
export function status() {
  asking ??= (async () => {
    try {
      live.status = await ask("/api/status", null, "status");
      live.failure = null;
      notify("status");
      return live.status;
    } catch (error) {
      if (error instanceof Superseded) return live.status;
      if (error instanceof Failure) live.failure = error;
      throw error;
    } finally {
      asking = null;
    }
  })();
  return asking;
}

function become(state) {
  if (live.state === state) return;
  live.state = state;
  notify("state");
}

function hear({what, version, again}) {
  if (what === "lost") {
    become("lost");
    status().catch(() => notify("state")); // find out why: no response, or another token?
    return;
  }
  become("live");
  if (what !== "changed") return;
  // the first event reports data that was just loaded; after a lost connection the same number may mean other data
  const known = live.version === null ? live.status?.version : again ? live.version : null;
  live.version = version;
  if (version !== known) notify("changed");
}

// Polls as well: results may become stale without any event, and a proxy or another tab may keep a dead stream.
async function look() {
  if (document.hidden) return;
  const before = live.version;
  try {
    await status();
  } catch {
    notify("state");
    return;
  }
  const {version} = live.status;
  if (version === before) return;
  await new Promise((done) => setTimeout(done, LATE_AFTER)); // the event may be on its way
  if (document.hidden || live.version !== before) return;
  live.version = version;
  notify("changed");
  stream.again();
}

function inSight() {
  if (!stream.runs) stream.start();
  else if (live.state === "lost") stream.hurry();
  notify("changed");
}

function outOfSight() {
  stream.stop();
  live.version = null;
  become("connecting");
}

export function watch() {
  if (!document.hidden) stream.start();
  setInterval(look, LOOK_EVERY);
  // the steps of a start come without events
  setInterval(() => live.status?.starting && look(), LOOK_EVERY_AT_START);
  document.addEventListener("visibilitychange", () => (document.hidden ? outOfSight() : inSight()));
  addEventListener("online", () => {
    if (live.state === "lost") stream.hurry();
  });
  addEventListener("pagehide", outOfSight);
  addEventListener("pageshow", (event) => {
    if (event.persisted && !document.hidden) inSight();
  });
}
