"""Plots as SVG files, drawn by Plotly in a headless Chromium: always of one size, in light, with few bytes."""

import os
import re
import shutil
import subprocess
import sys
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
    from playwright.sync_api import Browser, Playwright

WIDTH = 760
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_DRAW = """async ([figure, width]) => {
  const layout = { ...figure.layout, width, height: heightOf(figure, width) };
  return await Plotly.toImage(
    { data: figure.data, layout }, { format: "svg", width, height: layout.height, imageDataOnly: true });
}"""


@contextmanager
def browser() -> Iterator["Browser"]:
    """Give a headless Chromium, the one of the system.

    Raises SettingsError where it or its driver is missing or does not start, with the reason and what to install.
    """
    try:
        from playwright.sync_api import Error
    except ImportError:
        raise SettingsError("pictures need Playwright: pip install 'aomg[dev]'") from None
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        raise SettingsError("pictures need Chromium: on Debian run apt install chromium; elsewhere see chromium.org")
    # Chromium refuses to keep its sandbox when root runs it, as in containers.
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with _driver() as driver:
        try:
            started = driver.chromium.launch(executable_path=path, args=[*flags, "--disable-dev-shm-usage"])
        except Error as error:
            raise SettingsError(
                f"pictures need Chromium, and {path} does not start ({_reason(error.message)}): on Debian run "
                "apt install --reinstall chromium; elsewhere see chromium.org"
            ) from None
        try:
            yield started
        finally:
            started.close()


@contextmanager
def _driver() -> Iterator["Playwright"]:
    """Start Playwright's driver, a Node of its own."""
    from playwright.sync_api import sync_playwright

    try:
        driver = sync_playwright().start()
    except Exception:  # a bare one, which only says that there is no connection
        version = [sys.executable, "-m", "playwright", "--version"]
        tried = subprocess.run(version, capture_output=True, text=True, timeout=60, check=False)
        raise SettingsError(
            f"pictures need Playwright, and its driver does not start ({_reason(tried.stderr)}): "
            "if a library is missing, on Debian run apt install libatomic1; otherwise install Playwright anew"
        ) from None
    try:
        yield driver
    finally:
        driver.stop()


def _reason(said: str) -> str:
    """The line that says most of what a program wrote before it ended: the first that it wrote as an error."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.partition("[err] ")[2] for line in lines if "[err] " in line]
    return (errors or lines or ["it ended without a word"])[0]


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
