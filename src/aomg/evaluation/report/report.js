"use strict";
// Draws every plot of the page in the colours of the reader's scheme, one after the other so that the page stays alive.

/** Height of a figure: what lying bars need, and below the plot as many lines as the legend takes in this width. */
function heightOf({ data, layout }, width) {
  const plot = layout.meta ? 90 + 14 * layout.meta.bars + 16 * layout.meta.groups : 380;
  if (!layout.showlegend) return plot;
  const column = 52 + 7.2 * Math.max(...data.map((trace) => trace.name.length));
  const columns = Math.max(1, Math.floor((width - 32) / column));
  return plot + 22 * Math.ceil(data.length / columns);
}

{
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)");
  const figures = [...document.querySelectorAll("script[data-plot]")].map((script) => [
    document.getElementById(script.dataset.plot),
    JSON.parse(script.textContent),
  ]);
  const config = { displayModeBar: false, doubleClick: "reset", showTips: false };
  const PRINTED = 660;

  const draw = (place, both, printed) => {
    const { data, layout } = both[dark.matches && !printed ? "dark" : "light"];
    const width = printed ? PRINTED : place.clientWidth;
    // a finger that scrolls must not zoom
    const dragmode = coarse.matches ? false : "zoom";
    const height = heightOf({ data, layout }, width);
    return Plotly.react(place, data, { ...layout, width, height, dragmode }, config);
  };
  // a table that does not fit shows that it goes on
  const frame = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      box.classList.toggle("cut", box.scrollHeight > box.clientHeight || box.scrollWidth > box.clientWidth);
    }
  };
  const all = async () => {
    frame();
    document.documentElement.removeAttribute("data-drawn");
    for (const [place, both] of figures) {
      try {
        await draw(place, both, false);
      } catch (error) {
        console.error(place.id, error);
      }
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    document.documentElement.dataset.drawn = figures.length;
  };

  let width = innerWidth;
  let waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(all, 150);
  });
  dark.addEventListener("change", all);
  addEventListener("beforeprint", () => figures.forEach(([place, both]) => draw(place, both, true)));
  addEventListener("afterprint", all);

  // a phone begins with the contents closed
  if (innerWidth < 640) document.querySelector("nav details")?.removeAttribute("open");
  all();
}
