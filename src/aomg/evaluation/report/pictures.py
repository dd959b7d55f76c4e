"""Draws plots as SVG files with Plotly in a headless Chromium: one size, light theme, small files."""

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
    """Start the system's Chromium without a window.

    Raises SettingsError with the reason and what to install if it or its driver is missing or does not start.
    """
    try:
        from playwright.sync_api import Error
    except ImportError:
        raise SettingsError("pictures need Playwright: pip install 'aomg[dev]'") from None
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        raise SettingsError("pictures need Chromium: on Debian run apt install chromium; elsewhere see chromium.org")
    # Chromium does not start with its sandbox as root, as in containers.
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
    """Start Playwright's driver, its own Node."""
    from playwright.sync_api import sync_playwright

    try:
        driver = sync_playwright().start()
    except Exception:  # it only says that there is no connection
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


def _reason(output: str) -> str:
    """Return the most useful line of a program's output: the first error, or else the first line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.partition("[err] ")[2] for line in lines if "[err] " in line]
    return (errors or lines or ["it ended without output"])[0]


def svgs(plots: Sequence[Plot]) -> list[str]:
    """Draw plots. Takes one or two seconds for the browser, and some hundredths per plot."""
    if not plots:
        return []
    with browser() as chromium, TemporaryDirectory() as folder:
        # from a file: sending scripts of 5 MB through the driver is slow
        file = Path(folder) / "plots.html"
        scripts = "".join(f"<script>{script}</script>" for script in (plotly(), own("report.js")))
        file.write_text(f'<!doctype html><meta charset="utf-8"><title>plots</title>{scripts}', encoding="utf-8")
        page = chromium.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
        page.goto(file.as_uri())
        return [_reproducible(page.evaluate(_DRAW, [figure(plot), WIDTH])) + "\n" for plot in plots]


def _reproducible(svg: str) -> str:
    """Replace Plotly's random names and sort attributes, so that the same plot gives the same file."""
    drawn = re.search(r'id="defs-(\w+)"', svg)
    return canonicalize(svg.replace(drawn[1], "plot") if drawn else svg)
