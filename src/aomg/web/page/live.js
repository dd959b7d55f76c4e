// What the server tells by itself: that something changed. The connection is kept up, and its state can be seen.

import {asker, Failure, Superseded} from "./api.js";

const AGAIN_AFTER = [1000, 1000, 2000, 3000, 5000];
const LOOK_EVERY = 10000;

// live.status: the newest /api/status; live.state: "connecting", "live" or "lost"; live.failure: why, or null.
export const live = {status: null, state: "connecting", failure: null, version: null};

const ask = asker();
const told = new Set();
let source = null;
let attempts = 0;
let timer = null;
let asking = null;

// Calls back with "changed" (there is new data), "status" (live.status is newer) or "state" (of the connection).
export function listen(callback) {
  told.add(callback);
  return () => told.delete(callback);
}

function tell(what) {
  for (const callback of [...told]) callback(what);
}

// The newest status. Calls while one is on its way wait for that one.
export function status() {
  asking ??= (async () => {
    try {
      live.status = await ask("/api/status", null, "status");
      live.failure = null;
      tell("status");
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
  tell("state");
}

export function connect() {
  clearTimeout(timer);
  source?.close();
  source = new EventSource("/api/events");
  source.addEventListener("open", () => {
    attempts = 0;
    become("live");
  });
  source.addEventListener("changed", (event) => {
    become("live");
    attempts = 0;
    const known = live.version === null ? live.status?.version : null;
    live.version = Number(event.lastEventId);
    // the first event tells of what was just asked for; after a lost connection the same number may mean other data
    if (live.version !== known) tell("changed");
  });
  source.addEventListener("error", () => {
    become("lost");
    // We connect again ourselves: browsers give up where the server answers with an error, and differ in how they wait.
    source.close();
    clearTimeout(timer);
    timer = setTimeout(connect, AGAIN_AFTER[Math.min(attempts, AGAIN_AFTER.length - 1)]);
    attempts += 1;
  });
}

// Results may become stale without any event, and a proxy may keep a dead connection open: so we also look by ourselves.
export function watch() {
  connect();
  setInterval(() => {
    if (!document.hidden) status().catch(() => tell("state"));
  }, LOOK_EVERY);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (live.state === "lost") connect();
    tell("changed");
  });
  addEventListener("online", () => {
    if (live.state === "lost") connect();
  });
  // a page that is left must not hold a connection: browsers allow six to a server
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) connect();
  });
}
