// Loads Plotly when a view first draws, and applies the page's colours and fonts.

let loading = null;

// The library, from /static (no other host is contacted). 5 MB: loaded after the first paint, then cached.
export function plotly() {
  loading ??= new Promise((done, failed) => {
    if (window.Plotly) {
      done(window.Plotly);
      return;
    }
    const script = document.createElement("script");
    script.src = document.querySelector("meta[name=aomg-plotly]").content;
    script.addEventListener("load", () => done(window.Plotly));
    script.addEventListener("error", () => {
      loading = null;
      script.remove();
      failed(new Error("The plotting library did not load. Reload the page."));
    });
    document.head.append(script);
  });
  return loading;
}

// The colours of the current theme: look().ink, .soft, .line, .paper, .wash, .link, .good, .warn, .bad and .series (five
// colour-blind-safe colours, one per quantile).
export function look() {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "soft", "line", "paper", "wash", "link", "good", "warn", "bad"];
  const colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
  colours.series = [1, 2, 3, 4, 5].map((number) => colour(`series-${number}`));
  colours.font = getComputedStyle(document.body).fontFamily;
  probe.remove();
  return colours;
}

// Escapes texts from data: Plotly interprets tags and entities in names, ticks, hover texts and labels.
export function asText(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// A layout in the page's style; `own` overrides it, axes get defaults.
export function layout(own = {}) {
  const {ink, soft, line, wash, font} = look();
  const axis = {
    gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, automargin: true,
    tickfont: {color: soft, size: 12}, title: {font: {color: soft, size: 12}},
  };
  const full = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {family: font, size: 13, color: ink},
    margin: {l: 8, r: 8, t: 8, b: 8}, hoverlabel: {bgcolor: wash, bordercolor: line, font: {family: font, size: 13, color: ink}, align: "left"},
    legend: {orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: {color: ink, size: 12}},
    dragmode: "zoom", uirevision: "kept", ...own,
  };
  for (const name of Object.keys(own)) {
    if (/^[xy]axis\d*$/.test(name)) full[name] = {...axis, ...own[name], title: {...axis.title, ...(own[name].title ?? {})}};
  }
  return full;
}

// No toolbar: it adds style elements that the policy forbids. Double click resets the zoom.
export const config = {displaylogo: false, displayModeBar: false, responsive: false, showTips: false, doubleClick: "reset", scrollZoom: false};

// Draws make() -> {data, layout} into place, and again when the theme or the size of place changes.
// Returns {update(), close()}; update() redraws, keeps the zoom (layout.uirevision), and waits for the end of a drag.
export async function draw(place, make, own = {}) {
  const library = await plotly();
  let width = 0;
  let open = true;
  let isDragging = false; // the pointer is down: a redraw would end the drag
  let late = false; // a redraw was requested meanwhile
  const paint = async () => {
    if (!open) return;
    late = isDragging;
    if (isDragging) return;
    const figure = make();
    width = place.clientWidth;
    const full = layout({width, height: place.clientHeight || undefined, ...figure.layout});
    await library.react(place, figure.data, full, {...config, ...own});
  };
  const hold = () => { isDragging = true; };
  const release = () => {
    if (!isDragging) return;
    isDragging = false;
    if (late) setTimeout(paint); // after the library has reported the end of the drag
  };
  const sized = new ResizeObserver(() => {
    if (place.clientWidth !== width && place.clientWidth > 0) paint();
  });
  await paint();
  sized.observe(place);
  place.addEventListener("pointerdown", hold, true);
  for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, release, true);
  document.addEventListener("theme", paint);
  return {
    update: paint,
    close() {
      open = false;
      sized.disconnect();
      place.removeEventListener("pointerdown", hold, true);
      for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, release, true);
      document.removeEventListener("theme", paint);
      library.purge(place);
    },
  };
}
