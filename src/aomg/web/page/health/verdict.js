// Is all well? One sentence, and for what is not, what to do.

import {duration, sentence, whole} from "../lib/format.js";

const SLOW_BATCHES = 5;

// health: what /api/health answers, its batches with newly_late; status: what /api/status does. {state, said, reasons: [{what, whatToDo}]}
export function verdict(health, status) {
  const reasons = [];
  const {batches} = health;
  const stale = health.stale ?? status?.stale;
  if (stale) reasons.push({what: `Results are stale${stale.seconds === null || stale.seconds === undefined ? "" : `: nothing new for ${duration(stale.seconds)}`}.`, whatToDo: [stale.because, stale.what_to_do].filter(Boolean).map(sentence).join(" ")});
  for (const problem of status?.problems ?? []) reasons.push({what: sentence(problem), whatToDo: ""});
  const period = Math.min(...(status?.queries ?? []).map((query) => query.period_seconds ?? Infinity));
  const recent = batches.slice(-SLOW_BATCHES);
  if (recent.length === SLOW_BATCHES && recent.every((batch) => batch.seconds > period)) {
    reasons.push({what: `Micro-batches take longer than a period of ${duration(period)}.`, whatToDo: "Give Spark more cores, or make the periods longer."});
  }
  const refused = recent.reduce((sum, batch) => sum + (batch.refused ?? 0), 0);
  if (refused > 0) reasons.push({what: `${whole(refused)} events of the newest ${recent.length} micro-batches were refused.`, whatToDo: "The quarantine folder says why, with the rows."});
  const late = recent.reduce((sum, batch) => sum + (batch.newly_late ?? 0), 0);
  if (late > 0) reasons.push({what: `${whole(late)} events came too late for their windows in the newest ${recent.length} micro-batches.`, whatToDo: "A longer lateness waits for them."});
  const waiting = Object.entries(health.undelivered ?? {}).filter(([, many]) => many > 0);
  for (const [receiver, many] of waiting) reasons.push({what: `${whole(many)} ${many === 1 ? "alert waits" : "alerts wait"} for ${receiver}.`, whatToDo: "Look whether it can be reached; they are tried again until they are delivered."});
  const ended = health.live ? "" : headline(health.note);
  if (reasons.length > 0) return {state: "firing", said: ended || (stale ? "Results are stale" : reasons.length === 1 ? "One thing needs a look" : `${whole(reasons.length)} things need a look`), reasons};
  if (batches.length === 0) return {state: "connecting", said: ended || "How the monitor fares is not known", reasons};
  if (!health.live) return {state: "connecting", said: ended || "The monitor does not run", reasons};
  return {state: "resolved", said: "All is well", reasons};
}

// "The monitor ended 5 min ago: its source ended", of a note that says more after a semicolon.
function headline(note) {
  return sentence(String(note ?? "").split(";")[0]).replace(/\.$/, "");
}
