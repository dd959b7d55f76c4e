// Pointer and keyboard on the plot of a key: which point is told, taken, or zoomed to.

import {tipContent} from "./tip.js";

const LEAST_ZOOM = 1000;

export class KeyPointer {
  // page: see page.js; asked: see request.js; act: {zoom(from, to), all(more changes), take(end), redraw()}
  constructor(page, asked, act) {
    Object.assign(this, {page, asked, act});
    this.chosen = null; // the end of the point that is told: its place changes as windows come
    this.pointed = null; // where the pointer is, from the left of the plot; null where the keyboard chose
    const {figure} = page;
    figure.on("plotly_relayout", (changed) => {
      const [from, to] = [changed["xaxis.range[0]"] ?? changed["xaxis.range"]?.[0], changed["xaxis.range[1]"] ?? changed["xaxis.range"]?.[1]];
      if (from !== undefined && to !== undefined) this.zoom(from, to);
    });
    // A double click is two clicks as well: the first took a point, which is undone, and the second is told after it.
    let before = null; // the window that was taken before the first click
    let double = false;
    figure.addEventListener("mousedown", (event) => {
      if (event.detail < 2) [before, double] = [null, false];
    }, true);
    figure.on("plotly_doubleclick", () => {
      double = true;
      act.all(before === null ? {} : {at: before});
    });
    figure.on("plotly_hover", ({points, event}) => {
      const found = points.find((point) => point.customdata !== undefined);
      if (found) this.tell(this.asked.data.ends[found.customdata], event.clientX - figure.getBoundingClientRect().left);
    });
    figure.on("plotly_unhover", () => this.tell(null));
    figure.on("plotly_click", ({points}) => {
      const found = points.find((point) => point.customdata !== undefined);
      if (!found || double) return;
      before ??= asked.address.get("at");
      act.take(this.asked.data.ends[found.customdata]);
    });
    figure.addEventListener("keydown", (event) => this.pressed(event));
    figure.addEventListener("blur", () => this.tell(null));
  }

  pressed(event) {
    const [from, to] = this.asked.drawn;
    const long = to - from;
    const closer = () => this.zoom(from + long / 4, to - long / 4);
    const acts = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Home: () => this.step(-Infinity), End: () => this.step(Infinity),
      "+": closer, "=": closer, "-": () => this.zoom(from - long / 2, to + long / 2), 0: () => this.act.all(),
      Enter: () => this.chosen !== null && this.act.take(this.chosen), Escape: () => this.tell(null),
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    acts[event.key]();
  }

  zoom(from, to) {
    if (to - from >= LEAST_ZOOM) this.act.zoom(from, to);
    else this.act.redraw();
  }

  step(by) {
    const there = this.asked.inView();
    if (there.length === 0) return;
    const now = this.chosen === null ? (by < 0 ? there.length : -1) : there.indexOf(this.place());
    this.tell(this.asked.data.ends[there[Math.min(Math.max(now + by, 0), there.length - 1)]]);
  }

  // Where the point is that is told: that of its end, or the nearest in sight, as several windows may share a point.
  place() {
    const moment = Date.parse(this.chosen);
    const distance = (at) => Math.abs(this.asked.moments[at] - moment);
    return this.asked.inView().reduce((best, at) => (best === null || distance(at) < distance(best) ? at : best), null);
  }

  // Windows came or another time is shown: the same point is told anew.
  again() {
    if (this.chosen === null) return;
    const at = this.place();
    this.tell(at === null ? null : this.asked.data.ends[at], this.pointed);
  }

  // All numbers of one point, beside it. Where the keyboard chose it, its place is found by its time.
  tell(end, pointed = null) {
    const {tip, cursor, figure} = this.page;
    [this.chosen, this.pointed] = [end, pointed];
    const at = end === null ? null : this.place();
    tip.hidden = at === null;
    cursor.hidden = at === null || pointed !== null;
    if (at === null) return;
    const {data, hidden, styles} = this.asked;
    tip.replaceChildren(...tipContent(data, at, {hidden, styles, unitOf: (name) => this.asked.unit(name)}));
    const axis = figure._fullLayout.xaxis;
    const x = pointed ?? axis._offset + axis.d2p(this.asked.moments[at]);
    cursor.style.left = `${x + figure.offsetLeft}px`;
    const [own, whole] = [tip.offsetWidth, figure.clientWidth];
    tip.style.left = `${Math.max(0, x > whole / 2 ? Math.max(x - own - 18, 0) : Math.min(x + 18, whole - own))}px`;
    tip.style.top = "28px";
  }
}
