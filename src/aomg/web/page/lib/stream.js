// One event stream for all tabs: browsers allow six connections to a server, and a stream takes one of them.
//
// One of the visible tabs holds a Web Lock. It opens the stream and forwards events to the others. If it is closed,
// crashes or is hidden, the browser gives the lock to the next tab. Without Web Locks (browsers offer them for localhost
// and TLS only) every visible tab has its own stream. Hidden tabs have none.

const NAME = "aomg events";
const AGAIN_AFTER = [1000, 1000, 2000, 3000, 5000];

// tell({what: "open"}), tell({what: "changed", version, again}) or tell({what: "lost"}), each perhaps several times.
// again: a repeated message, for a tab that has just opened.
export class Stream {
  constructor(tell) {
    this.tell = tell;
    this.wish = null; // while visible: aborts the wait for the lock
    this.release = null; // while we hold the lock: releases it
    this.source = null;
    this.channel = null;
    this.last = null;
    this.attempts = 0;
    this.timer = null;
  }

  get runs() {
    return this.wish !== null;
  }

  // The tab became visible.
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

  // The tab was hidden or closed: release everything.
  stop() {
    if (!this.runs) return;
    this.wish.abort();
    this.wish = null;
    this.leave();
    this.channel?.close();
    this.channel = null;
  }

  // An event was missed: reconnect in this tab, whichever tab had the stream.
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

  // The network is back: reconnect now.
  hurry() {
    if (this.source !== null) this.connect();
  }

  async queue(options) {
    const {wish} = this;
    try {
      await navigator.locks.request(NAME, options, () => {
        if (wish !== this.wish) return null; // cancelled meanwhile
        return new Promise((release) => {
          this.release = release;
          this.connect();
        });
      });
    } catch (error) {
      if (wish !== this.wish) return;
      this.leave();
      if (error.name === "AbortError") this.queue({signal: wish.signal}); // another tab took the lock: wait again
      else {
        this.channel?.close(); // Web Locks do not work here after all
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
      // Reconnect ourselves: browsers give up after an error response, and differ in how long they wait.
      source.close();
      this.timer = setTimeout(() => this.connect(), AGAIN_AFTER[Math.min(this.attempts, AGAIN_AFTER.length - 1)]);
      this.attempts += 1;
      this.pass({what: "lost"});
    });
  }
}
