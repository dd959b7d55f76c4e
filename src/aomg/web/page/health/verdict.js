// The verdict on the monitor's health: a headline, and each problem with what to do.

import {duration, sentence, staleTitle, whole} from "../lib/format.js";
import {dueText} from "../lib/start.js";

const SLOW_BATCHES = 5;

// health: the response of /api/health, its batches with newly_late; status: the response of /api/status.
// Returns {state, headline, reasons: [{what, whatToDo}]}.
export function verdict(health, status) {
  const reasons = [];
  const {batches} = health;
  const stale = health.stale ?? status?.stale;
  if (stale) reasons.push({what: staleTitle(stale), whatToDo: [stale.because, stale.what_to_do].filter(Boolean).map(sentence).join(" ")});
  for (const problem of status?.problems ?? []) reasons.push({what: sentence(problem), whatToDo: ""});
  const period = Math.min(...(status?.queries ?? []).map((query) => query.period_seconds ?? Infinity));
  const recent = batches.slice(-SLOW_BATCHES);
  if (recent.length === SLOW_BATCHES && recent.every((batch) => batch.seconds > period)) {
    reasons.push({what: `Micro-batches take longer than the period of ${duration(period)}.`, whatToDo: "Give Spark more cores, or use longer periods."});
  }
  const refused = recent.reduce((sum, batch) => sum + (batch.refused ?? 0), 0);
  if (refused > 0) reasons.push({what: `The newest ${recent.length} micro-batches refused ${whole(refused)} ${refused === 1 ? "event" : "events"}.`, whatToDo: "The quarantine folder has the rows and the reasons."});
  const late = recent.reduce((sum, batch) => sum + (batch.newly_late ?? 0), 0);
  if (late > 0) reasons.push({what: `The newest ${recent.length} micro-batches dropped ${whole(late)} late ${late === 1 ? "event" : "events"}.`, whatToDo: "To include late events, increase lateness in the configuration."});
  const waiting = Object.entries(health.undelivered ?? {}).filter(([, many]) => many > 0);
  for (const [receiver, many] of waiting) reasons.push({what: `${whole(many)} ${many === 1 ? "notification is" : "notifications are"} not delivered to ${receiver} yet.`, whatToDo: "Check that the receiver can be reached; the monitor retries until it succeeds."});
  if (health.starting) return {state: "connecting", headline: "The monitor is starting", reasons: [{what: sentence(health.starting.what), whatToDo: dueText(health.starting, status?.now)}, ...reasons]};
  const ended = health.live ? "" : firstPart(health.note);
  if (reasons.length > 0) return {state: "firing", headline: ended || (stale ? "Results are stale" : reasons.length === 1 ? "1 problem" : `${whole(reasons.length)} problems`), reasons};
  if (batches.length === 0) return {state: "connecting", headline: ended || "Monitor health is unknown", reasons};
  if (!health.live) return {state: "connecting", headline: ended || "The monitor is not running", reasons};
  return {state: "resolved", headline: "The monitor is healthy", reasons};
}

// "The monitor ended 5 min ago: its source ended": the part of a note before its semicolon.
function firstPart(note) {
  return sentence(String(note ?? "").split(";")[0]).replace(/\.$/, "");
}
