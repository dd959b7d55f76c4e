// Plotly: loaded once, when a view first draws; its layouts in the page's colours and type.

let loading = null;

// The library, from /static (nothing is asked of another host). 5 MB: loaded after the first paint, cached for good.
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
      failed(new Error("The plotting library did not load. Load the page again."));
    });
    document.head.append(script);
  });
  return loading;
}

// The colours of the present theme, resolved: look().ink, .soft, .line, .paper, .wash, .link, .good, .warn, .bad and
// .series (five that people who do not see all colours can tell apart: one for each quantile).
export function look() {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const names = ["ink", "soft", "line", "paper", "wash", "link", "good", "warn", "bad"];
  const found = Object.fromEntries(names.map((name) => [name, colour(name)]));
  found.series = [1, 2, 3, 4, 5].map((number) => colour(`series-${number}`));
  found.font = getComputedStyle(document.body).fontFamily;
  probe.remove();
  return found;
}

// Plotly reads tags and entities in texts; texts from data are shown as they are. For names, ticks, hover and labels.
export function asText(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// A layout in the page's looks; what is given wins, axes are filled up.
export function layout(own = {}) {
  const {ink, soft, line, wash, font} = look();
  const axis = {
    gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line, automargin: true,
    tickfont: {color: soft, size: 12}, title: {font: {color: soft, size: 12}},
  };
  const made = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: {family: font, size: 13, color: ink},
    margin: {l: 8, r: 8, t: 8, b: 8}, hoverlabel: {bgcolor: wash, bordercolor: line, font: {family: font, size: 13, color: ink}, align: "left"},
    legend: {orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: {color: ink, size: 12}},
    dragmode: "zoom", uirevision: "kept", ...own,
  };
  for (const name of Object.keys(own)) {
    if (/^[xy]axis\d*$/.test(name)) made[name] = {...axis, ...own[name], title: {...axis.title, ...(own[name].title ?? {})}};
  }
  return made;
}

// No toolbar: it brings style elements that the policy forbids; double click resets the zoom.
export const config = {displaylogo: false, displayModeBar: false, responsive: false, showTips: false, doubleClick: "reset", scrollZoom: false};

// Draws what make() returns ({data, layout}) into place, and again when the theme or the size of place changes.
// Returns {update(), close()}; update() draws make() anew, keeping zoom (layout.uirevision), and waits for the end of a drag.
export async function draw(place, make, own = {}) {
  const library = await plotly();
  let width = 0;
  let open = true;
  let held = false; // the pointer is down: to draw now would spoil a drag
  let late = false; // something was to be drawn meanwhile
  const paint = async () => {
    if (!open) return;
    late = held;
    if (held) return;
    const figure = make();
    width = place.clientWidth;
    const full = layout({width, height: place.clientHeight || undefined, ...figure.layout});
    await library.react(place, figure.data, full, {...config, ...own});
  };
  const hold = () => { held = true; };
  const release = () => {
    if (!held) return;
    held = false;
    if (late) setTimeout(paint); // after the library has told where the drag ended
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
