"""The documents stay true: their examples run, the files they name exist, their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = ["README.md", *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").rglob("*.md")))]


@pytest.mark.parametrize("document", ["README.md", "docs/guide.md", "docs/policies.md", "docs/streams.md"])
def test_examples_run_from_top_to_bottom(document):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_exist(document):
    named = re.findall(
        r"`((?:core|policies|spark|streams|evaluation|tests|benchmarks|src)/[\w/.-]+)`", (ROOT / document).read_text()
    )
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
