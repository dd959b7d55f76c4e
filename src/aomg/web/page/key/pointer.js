// Pointer and keyboard on the plot of a key: tooltip, selection and zoom.

import {tipContent} from "./tip.js";

const LEAST_ZOOM = 1000;

export class KeyPointer {
  // page: see page.js; request: see request.js; act: {zoom(from, to), all(more changes), select(end), redraw()}
  constructor(page, request, act) {
    Object.assign(this, {page, request, act});
    this.chosen = null; // the end of the point with the tooltip: its index changes as windows arrive
    this.pointed = null; // the pointer's distance from the left of the plot; null for the keyboard
    const {figure} = page;
    figure.on("plotly_relayout", (changed) => {
      const [from, to] = [changed["xaxis.range[0]"] ?? changed["xaxis.range"]?.[0], changed["xaxis.range[1]"] ?? changed["xaxis.range"]?.[1]];
      if (from !== undefined && to !== undefined) this.zoom(from, to);
    });
    // A double click is two clicks as well: the first selects a point, which is undone, and the second is reported after it.
    let before = null; // the window that was selected before the first click
    let double = false;
    figure.addEventListener("mousedown", (event) => {
      if (event.detail < 2) [before, double] = [null, false];
    }, true);
    figure.on("plotly_doubleclick", () => {
      double = true;
      act.all(before === null ? {} : {at: before});
    });
    figure.on("plotly_hover", ({points, event}) => {
      const point = points.find((point) => point.customdata !== undefined);
      if (point) this.show(this.request.data.ends[point.customdata], event.clientX - figure.getBoundingClientRect().left);
    });
    figure.on("plotly_unhover", () => this.show(null));
    figure.on("plotly_click", ({points}) => {
      const point = points.find((point) => point.customdata !== undefined);
      if (!point || double) return;
      before ??= request.address.get("at");
      act.select(this.request.data.ends[point.customdata]);
    });
    figure.addEventListener("keydown", (event) => this.pressed(event));
    figure.addEventListener("blur", () => this.show(null));
  }

  pressed(event) {
    const [from, to] = this.request.drawn;
    const long = to - from;
    const closer = () => this.zoom(from + long / 4, to - long / 4);
    const acts = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), Home: () => this.step(-Infinity), End: () => this.step(Infinity),
      "+": closer, "=": closer, "-": () => this.zoom(from - long / 2, to + long / 2), 0: () => this.act.all(),
      Enter: () => this.chosen !== null && this.act.select(this.chosen), Escape: () => this.show(null),
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
    const indices = this.request.inView();
    if (indices.length === 0) return;
    const now = this.chosen === null ? (by < 0 ? indices.length : -1) : indices.indexOf(this.place());
    this.show(this.request.data.ends[indices[Math.min(Math.max(now + by, 0), indices.length - 1)]]);
  }

  // The index of the point with the tooltip: by its end, or the nearest, because several windows may share a point.
  place() {
    const moment = Date.parse(this.chosen);
    const distance = (index) => Math.abs(this.request.moments[index] - moment);
    return this.request.inView().reduce((best, index) => (best === null || distance(index) < distance(best) ? index : best), null);
  }

  // New windows arrived or the range changed: shows the tooltip of the same point again.
  again() {
    if (this.chosen === null) return;
    const index = this.place();
    this.show(index === null ? null : this.request.data.ends[index], this.pointed);
  }

  // Shows the tooltip of a point. For the keyboard, its position follows from its time.
  show(end, pointed = null) {
    const {tip, cursor, figure} = this.page;
    [this.chosen, this.pointed] = [end, pointed];
    const index = end === null ? null : this.place();
    tip.hidden = index === null;
    cursor.hidden = index === null || pointed !== null;
    if (index === null) return;
    const {data, hidden, styles} = this.request;
    tip.replaceChildren(...tipContent(data, index, {hidden, styles, unitOf: (name) => this.request.unit(name)}));
    const axis = figure._fullLayout.xaxis;
    const x = pointed ?? axis._offset + axis.d2p(this.request.moments[index]);
    cursor.style.left = `${x + figure.offsetLeft}px`;
    const [own, whole] = [tip.offsetWidth, figure.clientWidth];
    tip.style.left = `${Math.max(0, x > whole / 2 ? Math.max(x - own - 18, 0) : Math.min(x + 18, whole - own))}px`;
    tip.style.top = "28px";
  }
}
