// A virtual list: only visible rows are in the page; others are requested in blocks when they scroll into view. While a
// row is visible, its element belongs to one key: focus and selections stay with it.

import {mark} from "./element.js";

export const BLOCK = 100;
const AROUND = 6;

// scroll: the element that scrolls; all: inside it, as high as all rows; visible: inside that, with the visible rows.
// make() -> an element with a link in it; fill(element, data or null); identity(data) -> text
// fetch(offset) -> {matching, rows}, or null if superseded; changed(answer) after each; failed(error)
export class LongList {
  constructor({scroll, all, visible, make, fill, identity, fetch, changed, failed}) {
    Object.assign(this, {scroll, all, visible, make, fill, identity, fetch, changed, failed});
    this.blocks = new Map();
    this.requested = new Set();
    this.inSight = new Map(); // identity -> element
    this.free = [];
    this.matching = 0;
    this.current = 0; // the row that Tab reaches
    this.question = 0;
    this.frame = 0;
    this.scrollTarget = 0; // where to scroll as soon as the list is long enough
    scroll.addEventListener("scroll", () => this.soon(), {passive: true});
    scroll.addEventListener("keydown", (event) => this.key(event));
    scroll.addEventListener("focusin", (event) => {
      const row = event.target.closest(".row");
      if (row) this.point(row.position);
    });
    this.sized = new ResizeObserver(() => this.measure());
    this.sized.observe(scroll);
    this.measure();
  }

  // Loads another list, from the top or a given scroll position. Returns when the first rows are loaded.
  async reset(top = 0) {
    this.question += 1;
    this.requested.clear();
    this.current = 0;
    this.scrollTarget = top;
    const done = await this.load([...new Set(this.wanted(top))]);
    if (done && top === 0) this.scroll.scrollTop = 0;
    return done;
  }

  // Reloads the visible rows; the others are requested again when they scroll into view.
  async refresh() {
    return this.load(this.wanted());
  }

  close() {
    this.question += 1;
    this.sized.disconnect();
    cancelAnimationFrame(this.frame);
  }

  async load(blocks) {
    const question = this.question;
    try {
      const answers = await Promise.all(blocks.map((block) => this.fetch(block * BLOCK)));
      if (question !== this.question || answers.some((answer) => !answer)) return false;
      this.blocks = new Map(blocks.map((block, position) => [block, answers[position].rows]));
      this.requested.clear();
      this.take(answers.at(-1));
      return true;
    } catch (error) {
      if (question === this.question) this.failed(error);
      return false;
    }
  }

  async more(block) {
    const question = this.question;
    this.requested.add(block);
    try {
      const answer = await this.fetch(block * BLOCK);
      if (!answer || question !== this.question) return;
      this.blocks.set(block, answer.rows);
      this.take(answer);
    } catch (error) {
      if (question === this.question) this.failed(error);
    } finally {
      this.requested.delete(block);
    }
  }

  take(answer) {
    this.matching = answer.matching;
    this.changed(answer);
    this.measure();
  }

  // Heights are read here only, so that scrolling never forces the browser to lay out twice.
  measure() {
    const style = getComputedStyle(this.scroll);
    this.height = parseFloat(style.getPropertyValue("--row")) || 44;
    this.head = parseFloat(style.getPropertyValue("--head")) || 0;
    this.view = this.scroll.clientHeight;
    const whole = `${this.matching * this.height}px`;
    if (this.all.style.height !== whole) {
      this.all.style.height = whole;
      this.view = this.scroll.clientHeight;
    }
    if (this.scrollTarget > 0 && this.matching > 0) {
      this.scroll.scrollTop = this.scrollTarget;
      this.scrollTarget = 0;
    }
    this.render();
  }

  range(top = this.scroll.scrollTop) {
    const first = Math.max(Math.floor(top / this.height) - AROUND, 0);
    const last = Math.min(Math.ceil((top + Math.max(this.view, 10 * this.height)) / this.height) + AROUND, this.matching);
    return [Math.min(first, Math.max(last - 1, 0)), last];
  }

  wanted(top = undefined) {
    if (this.matching === 0 && !top) return [0];
    const [first, last] = this.matching === 0 ? [Math.floor(top / this.height), Math.ceil((top + this.view) / this.height) + 1] : this.range(top);
    const blocks = [];
    for (let block = Math.floor(first / BLOCK); block * BLOCK < Math.max(last, 1); block++) blocks.push(block);
    return blocks;
  }

  soon() {
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  dataOf(position) {
    return this.blocks.get(Math.floor(position / BLOCK))?.[position % BLOCK] ?? null;
  }

  render() {
    const [first, last] = this.range();
    const focused = this.visible.contains(document.activeElement) ? document.activeElement.closest(".row") : null;
    const fixedRow = focused ?? this.selected();
    const before = this.inSight;
    const byName = new Map();
    const order = [];
    for (let position = first; position < last; position++) {
      const data = this.dataOf(position);
      let name = data === null ? `#${position}` : this.identity(data);
      if (byName.has(name)) name += `#${position}`; // blocks of different times may both have a key
      // a row that waited for its data keeps its element when the data arrives
      const old = before.has(name) ? name : data !== null && before.has(`#${position}`) ? `#${position}` : null;
      const row = old === null ? null : before.get(old);
      if (row !== null) before.delete(old);
      byName.set(name, row);
      order.push([name, position, data]);
      if (data === null && !this.requested.has(Math.floor(position / BLOCK))) this.more(Math.floor(position / BLOCK));
    }
    const gone = [...before.values()];
    const lost = focused !== null && gone.includes(focused);
    if (lost) this.scroll.focus({preventScroll: true});
    const rows = order.map(([name, position, data]) => {
      const row = byName.get(name) ?? gone.pop() ?? this.free.pop() ?? this.make();
      byName.set(name, row);
      row.position = position;
      this.fill(row, data);
      mark(row, "aria-rowindex", position + 2);
      return row;
    });
    for (const row of gone) {
      row.remove();
      this.free.push(row);
    }
    this.free.length = Math.min(this.free.length, 40);
    this.order(rows, rows.indexOf(fixedRow));
    this.inSight = byName;
    const shift = `translateY(${first * this.height}px)`;
    if (this.visible.style.transform !== shift) this.visible.style.transform = shift;
    this.point(Math.min(Math.max(this.current, first), Math.max(last - 1, 0)), false);
    if (lost && focused.isConnected === false) {
      const instead = rows.find((row) => row.position === focused.position);
      if (instead) instead.querySelector("a").focus({preventScroll: true});
    }
  }

  // Orders the rows without moving the one with the focus or a selection: it would lose them.
  order(rows, fixed) {
    const from = fixed < 0 ? 0 : fixed;
    if (rows.length === 0) return;
    if (fixed < 0 && this.visible.firstElementChild !== rows[0]) this.visible.prepend(rows[0]);
    for (let position = from; position > 0; position--) {
      if (rows[position].previousElementSibling !== rows[position - 1]) rows[position].before(rows[position - 1]);
    }
    for (let position = from; position < rows.length - 1; position++) {
      if (rows[position].nextElementSibling !== rows[position + 1]) rows[position].after(rows[position + 1]);
    }
  }

  selected() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || !this.visible.contains(selection.anchorNode)) return null;
    const node = selection.anchorNode;
    return (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(".row");
  }

  // Tab reaches one row; arrow keys move from there.
  point(position, chosen = true) {
    if (chosen) this.current = position;
    for (const row of this.inSight.values()) mark(row.querySelector("a"), "tabindex", row.position === position ? "0" : "-1");
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest(".names")) return;
    const page = Math.max(Math.floor((this.view - this.head) / this.height) - 1, 1);
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity}[event.key];
    if (step === undefined || this.matching === 0) return;
    event.preventDefault();
    const focused = document.activeElement.closest(".row");
    const from = focused && this.visible.contains(focused) ? focused.position : this.current - Math.sign(step);
    const to = Math.min(Math.max(from + step, 0), this.matching - 1);
    const top = to * this.height;
    const bottom = top + this.height;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (bottom > this.scroll.scrollTop + this.view - this.head) this.scroll.scrollTop = bottom - this.view + this.head;
    this.current = to;
    this.render();
    for (const row of this.inSight.values()) if (row.position === to) row.querySelector("a").focus({preventScroll: true});
  }
}
