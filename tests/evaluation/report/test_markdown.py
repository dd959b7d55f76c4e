"""The pages in docs/results: what the results say, with links and pictures that are there."""

import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from programs import BROWSER, needs
from rich.console import Console

from aomg.evaluation import command, files
from aomg.evaluation.measure.scale import Scale
from aomg.evaluation.outcome import Plot, Series, Table, TableColumn
from aomg.evaluation.report import html as report
from aomg.evaluation.report import markdown, pictures

TINY = Scale("tiny", 150_000, 150_000, 10_000, 1)


def stub(plots):
    return [f"<svg><!-- {plot.title} --></svg>" for plot in plots]


@pytest.fixture
def results(tmp_path, experiments):
    command.run(Console(quiet=True), scale=TINY, out=tmp_path / "evaluation")
    return files.read(tmp_path / "evaluation", ("first", "second"))


def test_every_result_has_a_page_and_every_plot_a_picture(results):
    assert list(markdown.pages(results, stub)) == [
        "README.md",
        "first.md",
        "first-1.svg",
        "second.md",
        "second-1.svg",
        "second-2.svg",
    ]
    assert markdown.pages(results, stub)["second-2.svg"] == "<svg><!-- Points --></svg>"


def test_all_links_lead_to_a_page(results):
    pages = markdown.pages(results, stub)
    linked = {target for text in pages.values() for target in re.findall(r"\]\(([^)#]+)", text)}
    assert linked == {*pages, "../evaluation.md"}


def test_a_page_has_tables_findings_claims_and_how_it_was_measured(results):
    page = markdown.pages(results, stub)["first.md"]
    assert "| policy | error (%) | events | paper's error | space |\n| --- | ---: | ---: | ---: | ---: |\n" in page
    assert "| paper | 0.500 | 1,234,567 | 3.25 | - |\n" in page
    assert "- The error here is half of the paper's.\n" in page
    assert "| the error is small | below 5 % | 0.87 % | holds |  |\n" in page
    assert "What it shows. A logarithmic axis cannot show zero" in page
    assert "tiny: 150,000 events of a stream" in page


def test_the_index_has_all_claims_with_their_verdicts(results):
    page = markdown.index(results)
    assert "Of the paper's claims, 1 of 2 hold." in page
    assert "| [it is fast](second.md) | 15 to 92 % | 3 % | **does not hold** | the rivals are built well |" in page


def test_the_index_names_every_command_and_the_days_from_first_to_last(results):
    first, second = results
    changed = replace(first, about=first.about | {"command": "aomg evaluate first", "date": "2026-01-02"})
    other = replace(second, about=second.about | {"command": "aomg evaluate second", "date": "2026-01-03"})
    page = markdown.index([changed, other])
    assert "- **command**: aomg evaluate first; aomg evaluate second\n" in page
    assert "- **measured**: 2026-01-02 to 2026-01-03\n" in page
    assert "aomg evaluate second" not in markdown.index([changed, changed])
    assert "aomg evaluate first; aomg evaluate second" in report.page([changed, other])


def test_signs_of_markdown_and_html_are_shown_and_not_obeyed():
    table = Table("t", [TableColumn("a|b")], [["<b>*x*_y_`z`[l](m)|n"]])
    assert markdown.rows(table) == "| a\\|b |\n| --- |\n| \\<b>\\*x\\*\\_y\\_\\`z\\`\\[l\\](m)\\|n |\n"


def test_pages_of_results_that_are_gone_go_and_other_files_stay(results, tmp_path, monkeypatch):
    monkeypatch.setattr(markdown.pages, "__defaults__", (stub,))
    target = tmp_path / "pages"
    target.mkdir()
    (target / "notes.md").write_text("# Written by hand\n")
    (target / "old.md").write_text(markdown.page(results[0]))
    (target / "old-1.svg").write_text("<svg/>")
    markdown.main([str(tmp_path / "evaluation"), str(target)])
    assert {file.name for file in target.iterdir()} == {*markdown.pages(results), "notes.md"}


def test_without_results_it_says_what_to_run(tmp_path):
    with pytest.raises(files.EvaluationError, match="run aomg evaluate first"):
        markdown.main([str(tmp_path), str(tmp_path / "pages")])
    assert not (tmp_path / "pages").exists()


@needs(BROWSER)
@pytest.mark.xdist_group("chromium")
def test_pictures_are_small_svg_files_that_are_the_same_each_time(results):
    shown = [plot for result in results for plot in result.outcome.plots]
    shown.append(Plot("lines", "x", "y", [Series(f"s{n}", list(range(50)), list(range(50))) for n in range(10)]))
    drawn = pictures.svgs([*shown, *reversed(shown)])
    assert drawn == drawn[::-1]
    drawn = drawn[: len(shown)]
    for picture, plot in zip(drawn, shown, strict=True):
        root = ET.fromstring(picture)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("width") == str(pictures.WIDTH)
        assert "rgb(255, 255, 255)" in picture
        marks = len(re.findall(r'class="point[ "]', picture)) - picture.count('"M0,0Z"')  # a bar that is not there
        numbers = [y for series in plot.series for y in series.y if y is not None and not (plot.log_y and y <= 0)]
        assert marks == len(numbers)
        assert len(picture) < 200_000


def test_what_is_missing_for_pictures_is_said(monkeypatch):
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    with pytest.raises(pictures.SettingsError, match=r"pictures need (Chromium|Playwright)"):
        pictures.svgs([Plot("p", "x", "y", [Series("s", [1], [1])])])
    assert pictures.svgs([]) == []


def put_program(folder, name, complaint):
    """A program that writes a complaint and fails."""
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{complaint}' >&2\nexit 127\n")
    file.chmod(0o755)
    return str(file)


def test_a_driver_that_lacks_a_library_is_named_with_the_remedy(monkeypatch, tmp_path):
    pytest.importorskip("playwright")
    complaint = "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file"
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", put_program(tmp_path, "node", complaint))
    put_program(tmp_path, "chromium", "it is not reached")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(pictures.SettingsError) as caught, pictures.browser():
        pass
    assert complaint in str(caught.value) and "apt install libatomic1" in str(caught.value)


@needs(BROWSER)
@pytest.mark.xdist_group("chromium")
def test_a_browser_that_does_not_start_is_named_with_the_remedy(monkeypatch, tmp_path):
    path = put_program(tmp_path, "chromium", "libnss3.so: cannot open shared object file")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(pictures.SettingsError) as caught, pictures.browser():
        pass
    assert f"{path} does not start (libnss3.so: cannot open shared object file)" in str(caught.value)
    assert "apt install --reinstall chromium" in str(caught.value)
