"""Plots as SVG files, drawn by Plotly in a headless Chromium: always of one size, in light, with few bytes."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from xml.etree.ElementTree import canonicalize

from aomg.errors import SettingsError
from aomg.evaluation.outcome import Plot
from aomg.evaluation.report.html import own, plotly
from aomg.evaluation.report.plots import figure

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDTH = 760
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_DRAW = """async ([figure, width]) => {
  const layout = { ...figure.layout, width, height: heightOf(figure, width) };
  return await Plotly.toImage(
    { data: figure.data, layout }, { format: "svg", width, height: layout.height, imageDataOnly: true });
}"""


def missing() -> str | None:
    """What is missing to draw, with how to get it; None if nothing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "pictures need Playwright: pip install 'aomg[dev]'"
    if not any(map(shutil.which, _BROWSERS)):
        return "pictures need Chromium: on Debian run apt install chromium; elsewhere see chromium.org"
    return None


@contextmanager
def browser() -> Iterator["Browser"]:
    """Give a headless Chromium, the one of the system. Raises SettingsError where there is none."""
    lacking = missing()
    if lacking:
        raise SettingsError(lacking)
    from playwright.sync_api import sync_playwright

    path = next(found for name in _BROWSERS if (found := shutil.which(name)))
    # Chromium refuses to keep its sandbox when root runs it, as in containers.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=[*flags, "--disable-dev-shm-usage"])
        try:
            yield started
        finally:
            started.close()


def svgs(plots: Sequence[Plot]) -> list[str]:
    """Draw plots; a second or two for the browser, and some hundredths for each."""
    if not plots:
        return []
    with browser() as chromium, TemporaryDirectory() as folder:
        # from a file: scripts of 5 MB take their time on the way through the driver
        file = Path(folder) / "plots.html"
        scripts = "".join(f"<script>{script}</script>" for script in (plotly(), own("report.js")))
        file.write_text(f'<!doctype html><meta charset="utf-8"><title>plots</title>{scripts}', encoding="utf-8")
        page = chromium.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
        page.goto(file.as_uri())
        return [_without_chance(page.evaluate(_DRAW, [figure(plot), WIDTH])) + "\n" for plot in plots]


def _without_chance(svg: str) -> str:
    """The same plot is the same file, whatever number Plotly drew for its names and in which order it set things."""
    drawn = re.search(r'id="defs-(\w+)"', svg)
    return canonicalize(svg.replace(drawn[1], "plot") if drawn else svg)
