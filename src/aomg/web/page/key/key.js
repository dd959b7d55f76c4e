// The view of one key: its newest values, and its quantiles over time with intervals, methods, limits and alerts.

import {Failure, queryText, Superseded} from "../lib/api.js";
import {element, mark, notice, write} from "../lib/element.js";
import {KeyRequest} from "./request.js";
import {KeyPage} from "./page.js";
import {keyFigure} from "./figure.js";
import {KeyPointer} from "./pointer.js";
import {sentence} from "../lib/format.js";
import {live} from "../lib/live.js";
import {draw, look} from "../lib/plot.js";
import {waiting} from "../lib/start.js";
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
    this.request = new KeyRequest(address);
    this.page = null; // null while there is nothing to show
    this.plot = null;
    this.pointer = null;
    this.begun = 0; // number of starts: of two, only the newer one continues
    this.starting = false;
    this.late = false; // something changed during the start
  }

  // Throws Superseded if another key or view was opened meanwhile.
  async start() {
    const mine = ++this.begun;
    this.starting = true;
    this.late = false;
    try {
      try {
        await this.request.load(this.place.clientWidth);
      } catch (error) {
        if (!(error instanceof Failure) || error.status !== 404 || this.gone(mine)) throw error;
        const query = this.request.query ? this.request.name : "";
        this.place.replaceChildren(waiting(live.status) ?? notice(sentence(error.message), sentence(error.whatToDo), element("p", null, element("a", {href: "/" + queryText({query})}, "Go to the overview"))));
        return;
      }
      if (this.gone(mine)) throw new Superseded();
      if (this.request.data.newest_end === null) {
        this.place.replaceChildren(notice("No data for this key", "Its windows are no longer in memory.", element("p", null, element("a", {href: "/" + queryText({query: this.request.name})}, "Go to the overview"))));
        return;
      }
      const page = new KeyPage(this.place, this.request, {range: (name) => this.all(name), scale: () => this.change({scale: this.request.log ? "linear" : null}), toggle: (name) => this.toggle(name)});
      page.show();
      const plot = await draw(page.figure, () => this.make(page), {doubleClick: false});
      if (this.gone(mine)) {
        plot.close();
        throw new Superseded();
      }
      [this.page, this.plot] = [page, plot];
      this.pointer = new KeyPointer(page, this.request, {zoom: (from, to) => this.change(zoomed(from, to)), all: (more) => this.all("all", more), select: (end) => this.select(end), redraw: () => plot.update()});
      this.showHistogram().then(() => mark(page.figure, "data-ready", true)); // everything is drawn and interactive
    } finally {
      if (mine === this.begun) this.starting = false;
    }
    if (this.late) await this.refresh();
  }

  gone(mine) {
    return mine !== this.begun || !this.place.isConnected;
  }

  make(page) {
    const {data, query, drawn, log, hidden, windowEnd} = this.request;
    const wide = page.figure.clientWidth;
    const figure = keyFigure(data, {query, range: drawn, log, hidden, windowEnd: Number.isNaN(windowEnd) ? null : windowEnd, look: look(), width: wide, height: wide < 600 ? 520 : 600});
    page.showBand(figure.bands);
    return figure;
  }

  async showHistogram() {
    const {request, page} = this;
    if (page === null) return;
    const {data, index} = request.selected;
    const lines = index === null ? [] : data.estimates.filter((one) => request.unit(one.name) !== "share").map((estimate) => {
      const {number, dash} = request.styles[estimate.name] ?? {number: 0, dash: "solid"};
      return {name: estimate.name, title: estimate.title, value: estimate.values[index], colour: look().series[number], dash};
    });
    const answer = await request.histogram();
    if (answer !== null && page === this.page) await page.histogram.show(answer, lines, request.query?.unit ?? null, request.csv.histogram);
  }

  // -- Changes ---------------------------------------------------------------------------------------------------------

  all(name, more = {}) {
    return this.change({last: name, from: null, to: null, ...more});
  }

  // Fixes the time range too: whoever opens the address later sees the same.
  select(end) {
    return this.change({at: end, ...zoomed(...this.request.drawn)});
  }

  toggle(name) {
    const {hidden} = this.request;
    if (!hidden.delete(name)) hidden.add(name);
    return this.change({hide: [...hidden].join(",")});
  }

  async change(changes) {
    this.address.change(changes);
    await this.refresh();
  }

  // Back and forward, or a link to another key.
  async moved() {
    if (!this.request.read()) return this.refresh();
    this.end();
    return this.startAgain();
  }

  // Shows its own error, because no caller handles it; the next change tries again.
  async startAgain() {
    try {
      await this.start();
    } catch (error) {
      if (error instanceof Superseded) return;
      if (!(error instanceof Failure)) throw error;
      this.place.replaceChildren(notice(sentence(error.message), sentence(error.whatToDo)));
    }
  }

  async refresh() {
    if (this.starting) {
      this.late = true;
      return;
    }
    if (this.page === null) return this.startAgain();
    try {
      await this.request.load(this.place.clientWidth);
    } catch (error) {
      if (error instanceof Superseded) return;
      if (!(error instanceof Failure)) throw error;
      write(this.page.note, `${sentence(error.message)} ${sentence(error.whatToDo)}`);
      return;
    }
    if (this.page === null) return; // closed, or another key was opened meanwhile
    this.page.show();
    await this.plot.update();
    this.pointer?.again();
    await this.showHistogram();
  }

  end() {
    this.request.ask.end();
    this.plot?.close();
    this.page?.histogram.close();
    [this.page, this.plot, this.pointer] = [null, null, null];
  }

  close() {
    this.begun += 1;
    this.end();
  }
}
