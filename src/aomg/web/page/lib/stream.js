// The stream of events, one for all tabs: browsers allow six connections to a server, and a stream holds one of them.
//
// Of the tabs in sight, one has the browser's lock of this name. It has the stream, and passes on what it hears. Where
// it is closed, crashes or goes out of sight, the browser gives the lock to the next tab. Where there are no locks
// (browsers have them for localhost and TLS only) every tab in sight has a stream of its own. Tabs out of sight have none.

const NAME = "aomg events";
const AGAIN_AFTER = [1000, 1000, 2000, 3000, 5000];

// tell({what: "open"}), tell({what: "changed", version, again}) or tell({what: "lost"}), which may come several times.
// again: this was told before; it answers a tab that has just come.
export class Stream {
  constructor(tell) {
    this.tell = tell;
    this.wish = null; // while in sight: ends the wait for the lock
    this.release = null; // while we have the lock: gives it back
    this.source = null;
    this.channel = null;
    this.last = null;
    this.attempts = 0;
    this.timer = null;
  }

  get runs() {
    return this.wish !== null;
  }

  // In sight: hear, from now on.
  start() {
    if (this.runs) return;
    this.wish = new AbortController();
    if (!navigator.locks || !window.BroadcastChannel) {
      this.connect();
      return;
    }
    this.channel = new BroadcastChannel(NAME);
    this.channel.addEventListener("message", ({data}) => this.hear(data));
    this.queue({signal: this.wish.signal});
    this.channel.postMessage({what: "new here"});
  }

  // Out of sight, or closed: hold nothing.
  stop() {
    if (!this.runs) return;
    this.wish.abort();
    this.wish = null;
    this.leave();
    this.channel?.close();
    this.channel = null;
  }

  // Nothing was heard of what has happened: connect anew, here, whoever had the stream.
  again() {
    if (!this.runs) return;
    this.attempts = 0;
    if (this.channel === null || this.release !== null) {
      this.connect();
      return;
    }
    this.wish.abort();
    this.wish = new AbortController();
    this.queue({steal: true});
  }

  // Do not wait longer: the network is back.
  hurry() {
    if (this.source !== null) this.connect();
  }

  async queue(options) {
    const {wish} = this;
    try {
      await navigator.locks.request(NAME, options, () => {
        if (wish !== this.wish) return null; // given up in the meantime
        return new Promise((release) => {
          this.release = release;
          this.connect();
        });
      });
    } catch (error) {
      if (wish !== this.wish) return;
      this.leave();
      if (error.name === "AbortError") this.queue({signal: wish.signal}); // another tab took it: wait for it anew
      else {
        this.channel?.close(); // locks are not to be had here after all
        this.channel = null;
        this.connect();
      }
    }
  }

  leave() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.last = null;
    this.release?.();
    this.release = null;
  }

  hear(message) {
    if (message.what !== "new here") {
      if (this.release === null) this.tell(message);
    } else if (this.release !== null && this.last !== null) this.channel.postMessage({...this.last, again: true});
  }

  pass(message) {
    this.last = message;
    this.channel?.postMessage(message);
    this.tell(message);
  }

  connect() {
    clearTimeout(this.timer);
    this.source?.close();
    const source = new EventSource("/api/events");
    this.source = source;
    source.addEventListener("open", () => {
      this.attempts = 0;
      this.tell({what: "open"});
    });
    source.addEventListener("changed", (event) => {
      this.attempts = 0;
      this.pass({what: "changed", version: Number(event.lastEventId)});
    });
    source.addEventListener("error", () => {
      // We connect again ourselves: browsers give up where the server answers with an error, and differ in how they wait.
      source.close();
      this.timer = setTimeout(() => this.connect(), AGAIN_AFTER[Math.min(this.attempts, AGAIN_AFTER.length - 1)]);
      this.attempts += 1;
      this.pass({what: "lost"});
    });
  }
}
