// One key: its newest values, and over time its quantiles with their intervals, methods, limits, alerts and counts.

import {Failure, queryText, Superseded} from "../lib/api.js";
import {element, mark, notice, write} from "../lib/element.js";
import {KeyAsked} from "./request.js";
import {KeyPage} from "./page.js";
import {keyFigure} from "./figure.js";
import {KeyPointer} from "./pointer.js";
import {draw, look} from "../lib/plot.js";
import {zoomed} from "../lib/time_range.js";

export const title = "Key";

export async function open(place, address) {
  const view = new KeyView(place, address);
  await view.start();
  return view;
}

class KeyView {
  constructor(place, address) {
    this.place = place;
    this.address = address;
    this.asked = new KeyAsked(address);
    this.page = null; // null as long as there is nothing to show
    this.plot = null;
    this.pointer = null;
    this.begun = 0; // how often it was started: of two starts only the newer one goes on
    this.starting = false;
    this.late = false; // something changed while it started
  }

  // Raises Superseded where another key or another view was opened meanwhile.
  async start() {
    const mine = ++this.begun;
    this.starting = true;
    this.late = false;
    try {
      await this.asked.load(this.place.clientWidth);
      if (this.gone(mine)) throw new Superseded();
      if (this.asked.data.newest_end === null) {
        this.place.replaceChildren(notice("Nothing is stored of this key", "Its windows are gone from memory.", element("p", null, element("a", {href: "/" + queryText({query: this.asked.name})}, "Look at the overview"))));
        return;
      }
      const page = new KeyPage(this.place, this.asked, {range: (name) => this.all(name), scale: () => this.change({scale: this.asked.log ? "linear" : null}), toggle: (name) => this.toggle(name)});
      page.show();
      const plot = await draw(page.figure, () => this.make(page.figure), {doubleClick: false});
      if (this.gone(mine)) {
        plot.close();
        throw new Superseded();
      }
      [this.page, this.plot] = [page, plot];
      this.pointer = new KeyPointer(page, this.asked, {zoom: (from, to) => this.change(zoomed(from, to)), all: (more) => this.all("all", more), take: (end) => this.take(end), redraw: () => plot.update()});
      this.showHistogram().then(() => mark(page.figure, "data-ready", true)); // all is there, and listens
    } finally {
      if (mine === this.begun) this.starting = false;
    }
    if (this.late) await this.refresh();
  }

  gone(mine) {
    return mine !== this.begun || !this.place.isConnected;
  }

  make(figure) {
    const {data, query, drawn, log, hidden, at} = this.asked;
    const wide = figure.clientWidth;
    return keyFigure(data, {query, range: drawn, log, hidden, at: Number.isNaN(at) ? null : at, look: look(), width: wide, height: wide < 600 ? 520 : 600});
  }

  async showHistogram() {
    const {asked, page} = this;
    if (page === null) return;
    const {data, index} = asked.told;
    const lines = index === null ? [] : data.estimates.filter((one) => asked.unit(one.name) !== "share").map((estimate) => {
      const {number, dash} = asked.styles[estimate.name] ?? {number: 0, dash: "solid"};
      return {name: estimate.name, title: estimate.title, value: estimate.values[index], colour: look().series[number], dash};
    });
    const answer = await asked.histogram();
    if (answer !== null && page === this.page) await page.histogram.show(answer, lines, asked.query?.unit ?? null, asked.csv.histogram);
  }

  // -- Changes ---------------------------------------------------------------------------------------------------------

  all(name, more = {}) {
    return this.change({last: name, from: null, to: null, ...more});
  }

  // The time around it becomes fixed too: whoever opens the address later sees the same.
  take(end) {
    return this.change({at: end, ...zoomed(...this.asked.drawn)});
  }

  toggle(name) {
    const {hidden} = this.asked;
    if (!hidden.delete(name)) hidden.add(name);
    return this.change({hide: [...hidden].join(",")});
  }

  async change(changes) {
    this.address.change(changes);
    await this.refresh();
  }

  // Back and forward, or a link to another key.
  async moved() {
    if (!this.asked.read()) return this.refresh();
    this.end();
    return this.startAgain();
  }

  // Failing is told here, as nobody waits for it; the next change tries again.
  async startAgain() {
    try {
      await this.start();
    } catch (error) {
      if (error instanceof Superseded) return;
      if (!(error instanceof Failure)) throw error;
      this.place.replaceChildren(notice(error.message, error.whatToDo));
    }
  }

  async refresh() {
    if (this.starting) {
      this.late = true;
      return;
    }
    if (this.page === null) return this.startAgain();
    try {
      await this.asked.load(this.place.clientWidth);
    } catch (error) {
      if (error instanceof Superseded) return;
      if (!(error instanceof Failure)) throw error;
      write(this.page.note, `${error.message} ${error.whatToDo}`);
      return;
    }
    if (this.page === null) return; // closed, or another key, meanwhile
    this.page.show();
    await this.plot.update();
    this.pointer?.again();
    await this.showHistogram();
  }

  end() {
    this.asked.ask.end();
    this.plot?.close();
    this.page?.histogram.close();
    [this.page, this.plot, this.pointer] = [null, null, null];
  }

  close() {
    this.begun += 1;
    this.end();
  }
}
