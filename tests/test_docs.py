"""The documents stay true: their examples run, the files they name exist, their links lead somewhere."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import aomg
from aomg import streams
from aomg.policies import make

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md"))),
]
PAGES = [str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("*.md"))]  # docs/results is generated
MOST_WORDS = 1_000


def test_the_readme_is_read_in_a_few_minutes():
    assert len((ROOT / "README.md").read_text().split()) <= MOST_WORDS


def test_the_figures_of_the_readme_are_those_of_the_page_of_figures():
    readme, page = (ROOT / "README.md").read_text(), (ROOT / "docs/figures.md").read_text()
    table = "".join(re.findall(r"^\|.*\| (.*) \|$", readme[readme.index("## Figures") :], re.MULTILINE))
    figures = re.findall(r"\d[\d,.]*\d", table)
    assert len(figures) > 12
    assert [figure for figure in figures if figure not in page] == []


# What needs Spark is run in tests/spark.
@pytest.mark.parametrize("document", ["README.md", "docs/guide.md", "docs/policies.md", "docs/streams.md"])
def test_examples_run_from_top_to_bottom(document, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    blocks = [block for block in blocks if "aomg.spark" not in block]
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out.splitlines()
    shown = [text for block in blocks for text in re.findall(r"^(?:print\(.*\)  #|# ->) (.*)$", block, re.MULTILINE)]
    assert [text for text in shown if text not in printed] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_exist(document):
    folders = "core|policies|spark|streams|evaluation|monitor|web|tests|benchmarks|src|docs|scripts|dashboards"
    named = re.findall(rf"`((?:{folders})/[\w/.-]*)`", (ROOT / document).read_text())
    named = [path for path in named if "NAME" not in path]  # a place for a new file
    missing = [path for path in named if not (ROOT / path).exists() and not (ROOT / "src/aomg" / path).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_between_documents_lead_somewhere(document):
    here = (ROOT / document).parent
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", (ROOT / document).read_text()):
        file = here / target if target else ROOT / document
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors


def test_the_code_that_the_paper_map_names_is_there():
    for line in (ROOT / "docs/paper-map.md").read_text().splitlines():
        for file, names in re.findall(r"`((?:core|streams)/[\w/]+\.py)`: ((?:`\w+(?:\.\w+)?`(?:, )?)+)", line):
            source = (ROOT / "src/aomg" / file).read_text()
            for name in re.findall(r"`([\w.]+)`", names):
                assert re.search(rf"(?:def|class) {name.split('.')[-1]}\b", source), f"{file}: {name}"


def test_ddsketch_compares_as_the_guarantees_say():
    pytest.importorskip("ddsketch")
    size, period = 131_072, 16_384
    values = streams.with_bursts(streams.pingmesh(), size, period).take(2_000_000)
    windows = [np.sort(values[end - size : end]) for end in range(size, values.size + 1, period)]
    query = aomg.Query(size, period, partial=False)
    columns = [make("ddsketch", query), *(aomg.Operator(query.replace(guarantee=g)) for g in (0.02, 0.01, 0.005))]
    measured = []
    for operator in columns:
        results = operator.push(values)
        errors = {}
        for quantile in query.quantiles:
            rank = math.ceil(quantile * size)
            exact = np.array([window[rank - 1] for window in windows])
            errors[str(quantile)] = np.abs(results.values(quantile) - exact) / exact
        p99_9 = results.estimates(results.column_of(0.999))
        averages = [errors[quantile].mean() for quantile in ("0.5", "0.99", "0.999")]
        width = ((p99_9[:, 2] - p99_9[:, 1]) / p99_9[:, 0]).mean()
        shares = [*averages, max(map(max, errors.values())), width]
        measured.append([*(f"{share:.2%}".replace("%", " %") for share in shares), f"{operator.nbytes:,}"])
    page = (ROOT / "docs/guarantees.md").read_text()
    section = page[page.index("### Compared with DDSketch") : page.index("## Methods exact and certified")]
    rows = [
        line.strip("| ").split(" | ")[1:] for line in section.splitlines() if line.startswith(("| a", "| l", "| b"))
    ]
    assert rows == [list(row) for row in zip(*measured, strict=True)]


# -- the map of CONTRIBUTING.md ----------------------------------------------------------------------------------------


def test_the_map_of_the_source_is_complete_and_true():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (tree,) = re.findall(r"```\nsrc/aomg/\n(.*?)```", text, re.DOTALL)
    listed, folder = set(), ""
    for line in tree.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent not in (2, 4):
            continue  # a second line of an explanation
        name = line.split()[0]
        folder = folder if indent == 4 else name
        listed.add(name if indent == 2 else folder + name)
    source = ROOT / "src" / "aomg"
    missing = [name for name in sorted(listed) if not (source / name).exists()]
    assert missing == []
    packages = {
        f"{path.parent.relative_to(source)}/"
        for path in source.rglob("__init__.py")
        if len(path.parent.relative_to(source).parts) in (1, 2)
    }
    modules = {path.name for path in source.glob("*.py") if path.name != "__init__.py"}
    assert sorted((packages | modules) - listed) == []


# -- the glossary ------------------------------------------------------------------------------------------------------

ENTRY = re.compile(r"^### (.+)\n\n((?:.+\n)+)(?:\n((?:.+\n)+))?", re.MULTILINE)


def glossary() -> dict[str, tuple[str, str]]:
    """The sentence and the example of every term."""
    text = (ROOT / "docs/glossary.md").read_text()
    return {
        term: (" ".join(sentence.split()), " ".join(example.split())) for term, sentence, example in ENTRY.findall(text)
    }


def test_every_term_of_the_glossary_has_one_sentence_and_an_example():
    entries = glossary()
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert headings == list(entries)
    for term, (sentence, example) in entries.items():
        assert re.fullmatch(r"[A-Z](?:[^.]|\.(?! [A-Z]))+\.", sentence), f"{term}: {sentence}"
        assert re.fullmatch(r"Example: .+[.\"]", example), f"{term}: {example}"


def test_the_index_of_the_glossary_has_every_term_under_its_theme():
    text = (ROOT / "docs/glossary.md").read_text()
    index = {
        theme: re.findall(r"\[([^]]+)\]\(#", line) for theme, line in re.findall(r"^- \*\*(.+):\*\* (.+)$", text, re.M)
    }
    themes = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    assert index == {
        theme: re.findall(r"^### (.+)$", part, re.MULTILINE)
        for theme, part in zip(themes[::2], themes[1::2], strict=True)
    }


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_every_page_links_to_the_glossary(document):
    if document != "docs/glossary.md":
        assert re.search(r"\]\((?:docs/)?glossary\.md(?:#[\w-]+)?\)", (ROOT / document).read_text())


def prose_of(text: str) -> str:
    """Return a page with blanks for all that is not prose: code, headings, tables, pictures, bold words."""
    text = re.sub(r"^```.*?^```$", lambda block: " " * len(block[0]), text, flags=re.MULTILINE | re.DOTALL)
    for pattern in (r"^(?:#|\||!|    ).*$", r"`[^`\n]*`", r"\*\*[^*\n]*\*\*"):
        text = re.sub(pattern, lambda part: " " * len(part[0]), text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize("document", ["README.md", *PAGES])
def test_a_term_is_linked_where_a_page_uses_it_first(document):
    if document == "docs/glossary.md":
        return
    prose, linked = prose_of((ROOT / document).read_text()), set()
    for link in re.finditer(r"\[([^]]+)\]\(((?:docs/)?glossary\.md#[\w-]+)\)", prose):
        term, target = link.groups()
        if target not in linked:
            before = re.sub(r"\[[^]]*\]\([^)]*\)", "", prose[: link.start()])
            assert not re.search(rf"(?<![\w/.-]){re.escape(term)}(?![\w/-])", before, re.IGNORECASE), term
        linked.add(target)
