// Asking the server. Every failure is a Failure with what happened and what to do; a request that a newer one replaced
// is Superseded, which views let pass.

export class Failure extends Error {
  constructor(what, whatToDo, status) {
    super(what);
    this.whatToDo = whatToDo;
    this.status = status;
  }
}

export class Superseded extends Error {}

// The text after "?" of parameters: {query: "inbound", "where.podset": "6", burst: true}. Empty ones are left out.
export function queryText(parameters) {
  const pairs = parameters instanceof URLSearchParams ? parameters : Object.entries(parameters ?? {});
  const kept = new URLSearchParams();
  for (const [name, value] of pairs) {
    const none = value === null || value === undefined || value === false;
    if (!none && (value !== "" || name.startsWith("key."))) kept.append(name, value); // an empty label is a label
  }
  const text = kept.toString();
  return text === "" ? "" : `?${text}`;
}

// const ask = asker();  await ask("/api/keys", {query: "inbound"}, "rows")
// A later call with the same third argument ends an earlier one that still runs. ask.end() ends them all.
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
    throw new Failure("The server does not answer.", "Look whether aomg still runs, in the terminal where it was started. This page goes on by itself as soon as it does.");
  }
  let told = {};
  try {
    told = await answer.json();
  } catch {
    if (signal.aborted) throw new Superseded();
  }
  if (answer.status === 401) {
    throw new Failure(told.error ?? "The server asks for a token.", told.what_to_do ?? "Load the page again and sign in.", 401);
  }
  throw new Failure(
    told.error ?? `The server answered with ${answer.status}.`,
    told.what_to_do ?? "Load the page again; if it stays so, look at what aomg wrote in its terminal.",
    answer.status,
  );
}
