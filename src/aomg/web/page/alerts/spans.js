// Time spans in which an alert was pending or firing, from its transitions.

// Transitions as spans: [{rule, state, from, to}] in milliseconds. An open span ends at `now`.
export function alertSpans(transitions, now) {
  const spans = [];
  const open = new Map();
  const close = (rule, end) => {
    const span = open.get(rule);
    if (span) spans.push({...span, to: end});
    open.delete(rule);
  };
  for (const change of [...transitions].sort((one, other) => Date.parse(one.end) - Date.parse(other.end))) {
    const end = Date.parse(change.end);
    if (change.transition === "firing") {
      const started = Date.parse(change.started);
      // `started` gives the pending time before it, even if that transition is no longer stored
      if (!open.has(change.rule) && started < end) spans.push({rule: change.rule, state: "pending", from: started, to: end});
      close(change.rule, end);
      open.set(change.rule, {rule: change.rule, state: "firing", from: end});
    } else if (change.transition === "pending") {
      close(change.rule, end);
      open.set(change.rule, {rule: change.rule, state: "pending", from: end});
    } else {
      if (!open.has(change.rule) && change.transition === "resolved") open.set(change.rule, {rule: change.rule, state: "firing", from: Date.parse(change.started)});
      close(change.rule, end);
    }
  }
  for (const span of open.values()) spans.push({...span, to: Math.max(now, span.from), open: true});
  return spans.sort((one, other) => one.from - other.from);
}
