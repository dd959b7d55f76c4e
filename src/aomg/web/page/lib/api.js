// Requests to the server. Every error is a Failure with a message and what to do; a request that a newer one replaced
// is Superseded, which views ignore.

export class Failure extends Error {
  constructor(message, whatToDo, status) {
    super(message);
    this.whatToDo = whatToDo;
    this.status = status;
  }
}

export class Superseded extends Error {}

// The query string of parameters: {query: "inbound", "where.podset": "6", burst: true}. Leaves out empty ones.
export function queryText(parameters) {
  const pairs = parameters instanceof URLSearchParams ? parameters : Object.entries(parameters ?? {});
  const filled = new URLSearchParams();
  for (const [name, value] of pairs) {
    const none = value === null || value === undefined || value === false;
    if (!none && (value !== "" || name.startsWith("key."))) filled.append(name, value); // an empty label is a label
  }
  const text = filled.toString();
  return text === "" ? "" : `?${text}`;
}

// const ask = asker();  await ask("/api/keys", {query: "inbound"}, "rows")
// A call aborts an earlier one with the same third argument that still runs. ask.end() aborts all.
export function asker() {
  const running = new Map();
  async function ask(path, parameters, slot = path) {
    running.get(slot)?.abort();
    const control = new AbortController();
    running.set(slot, control);
    try {
      return await read(path + queryText(parameters), control.signal);
    } finally {
      if (running.get(slot) === control) running.delete(slot);
    }
  }
  ask.end = () => {
    for (const control of running.values()) control.abort();
    running.clear();
  };
  return ask;
}

async function read(address, signal) {
  let answer;
  try {
    answer = await fetch(address, {signal, headers: {Accept: "application/json"}, cache: "no-cache", credentials: "same-origin"});
    if (answer.ok) return await answer.json();
  } catch (error) {
    if (signal.aborted) throw new Superseded();
    throw new Failure("The server does not respond.", "Check that aomg is still running in its terminal. This page reconnects by itself.");
  }
  let problem = {};
  try {
    problem = await answer.json();
  } catch {
    if (signal.aborted) throw new Superseded();
  }
  if (answer.status === 401) {
    throw new Failure(problem.error ?? "The server needs a token.", problem.what_to_do ?? "Reload the page and log in.", 401);
  }
  throw new Failure(
    problem.error ?? `The server responded with status ${answer.status}.`,
    problem.what_to_do ?? "Reload the page; if it fails again, check the output of aomg in its terminal.",
    answer.status,
  );
}
