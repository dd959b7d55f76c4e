// A monitor's start: its step, and when the first window is due. start: `starting` of /api/status; now: the server's clock.

import {element, notice} from "./element.js";
import {duration, fromNow, sentence, time} from "./format.js";

const STEPS = {spark: "Spark starts", plan: "It prepares the queries", batch: "The first micro-batch reads and counts events", window: "The first window is complete"};

// In place of a view that has no data because stored results are still read, or the monitor starts; else null.
export function waiting(status) {
  const {loading, version} = status ?? {};
  if (status && (version === 0 || loading.done < loading.of)) return notice("Reading stored results", "The newest windows appear in a moment.");
  return status?.starting ? startNotice(status.starting, status.now) : null;
}

// The steps of a start as a list, and when its first window is due.
function startNotice(start, now) {
  const place = start.steps.indexOf(start.step);
  return notice(
    "The monitor is starting",
    `${sentence(start.what)} The monitor was started ${duration(Math.round(start.seconds))} ago.`,
    element("ol", {class: "steps", "aria-label": "Steps of the start"}, start.steps.map((step, index) => element("li", {"data-state": index < place ? "done" : index === place ? "now" : null, "aria-current": index === place ? "step" : null}, STEPS[step] ?? step))),
    start.first_window ? element("p", null, `${dueText(start, now)} ${sentence(start.first_window)}`) : null,
  );
}

// When the first window is due: an estimate, because a busy machine takes longer.
export function dueText(start, now) {
  if (!start.due) return "";
  const isPast = Date.parse(start.due) < Date.parse(now);
  return isPast ? `The first window was expected ${fromNow(start.due, now)}; a busy machine takes longer.` : `The first window is due at about ${time(start.due)}, ${fromNow(start.due, now)}.`;
}
