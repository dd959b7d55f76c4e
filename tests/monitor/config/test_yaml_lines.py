import os
import threading

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aomg.monitor.config import yaml_lines
from aomg.monitor.config.node import Node
from aomg.monitor.config.yaml_lines import parse, read
from aomg.monitor.errors import ConfigError


def plain(node: Node):
    """The values without their lines."""
    if isinstance(node.value, dict):
        return {key: plain(value) for key, value in node.value.items()}
    return [plain(item) for item in node.value] if isinstance(node.value, list) else node.value


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(-1e15, 1e15).map(lambda number: round(number, 3)),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn"]), max_size=20),
)
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Zl", "Zp"]), min_size=1, max_size=8)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


class Quoted(str):
    """A text that is written in quotes: what it looks like without them differs between versions of YAML."""


def quoted(value):
    if isinstance(value, dict):
        return {Quoted(key): quoted(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [quoted(inner) for inner in value]
    return Quoted(value) if isinstance(value, str) else value


class Plain(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


Plain.add_representer(Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), '"'))


@given(value=VALUES, flow=st.sampled_from([True, False, None]))
def test_what_is_written_is_read_back(value, flow):
    text = yaml.dump(quoted(value), Dumper=Plain, default_flow_style=flow, allow_unicode=True)
    assert plain(parse(text)) == value


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.integers(0, 9), min_size=1, max_size=20), st.data()
)
def test_every_key_knows_its_line(entries, data):
    lines, expected = [], {}
    for key, value in entries.items():
        lines += ["# a comment"] * data.draw(st.integers(0, 2))
        lines += [f"{key}:"] + [""] * data.draw(st.integers(0, 1)) + [f"  - {value}"]
        expected[key] = lines.index(f"{key}:") + 1
    root = parse("\n".join(lines))
    assert {key: node.line for key, node in root.value.items()} == expected
    assert all(lines[node.value[0].line - 1].strip() == f"- {node.value[0].text}" for node in root.value.values())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("2024-05-01", "2024-05-01"),
        ("12M", "12M"),
        ("'1'", "1"),
        ("true", True),
        ("~", None),
        ("007", 7),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("0x10", "0x10"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_only_what_looks_like_a_number_is_one(text, value):
    value = parse(f"a: {text}").value["a"].value
    assert value == value and type(value) is type(value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: &x 2", 2, "anchors"),
        ("a: 1\nb: *x", 2, "aliases"),
        ("a: 1\nb: !x 2", 2, "tags"),
        ("a: !!str 2", 1, "tags"),
        ("a: ! 2", 1, "tags"),
        ("a: 1\nb: 2\na: 3", 3, "'a' appears twice, first in line 1"),
        ("x: {a: 1, 'a': 2}", 1, "twice"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("", 1, "empty"),
        ("# nothing\n\n", 1, "empty"),
        ("a:\n\t- b", 2, "tab"),
        ("a: 1\nb: c: d", 2, "quote texts"),
        ("a: [1, 2\nb: 3", 2, "bracket"),
        ("a: 'x\n", 1, "not closed"),
        ("a: \x01", 1, "control character"),
        ("a: 1\nb: \x00", 2, "control character"),
        ("? [a]\n: b", 1, "a key must be text"),
        ("a:\n  {'': b}", 2, "a key must be text"),
        ("a: " + "[" * 1000, 1, "levels deep"),
        ("- " * 1000 + "a", 1, "levels deep"),
    ],
)
def test_what_is_not_read_is_refused_with_its_line(text, line, message):
    with pytest.raises(ConfigError, match=message) as refused:
        parse(text)
    assert refused.value.line == line


@pytest.mark.parametrize(
    "call", ["python/object/apply:os.system", "python/object/new:os.system", "python/name:os.system"]
)
def test_a_tag_never_runs_anything(tmp_path, monkeypatch, call):
    ran = []
    monkeypatch.setattr(os, "system", ran.append)
    (tmp_path / "a.yaml").write_text(f"a: 1\nb: !!{call} ['touch {tmp_path}/marker']")
    with pytest.raises(ConfigError, match="tags") as refused:
        read(tmp_path / "a.yaml")
    assert refused.value.line == 2
    assert not ran and not (tmp_path / "marker").exists()


def test_a_bomb_of_aliases_is_refused_before_it_grows():
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    with pytest.raises(ConfigError, match="anchors"):
        parse("\n".join(lines))


def test_a_file_of_too_many_values_is_refused():
    with pytest.raises(ConfigError, match="more than 100,000 values"):
        parse("[" + "1," * 100_001 + "]")


def test_a_file_that_is_too_large_is_refused_and_the_largest_is_read(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1 #".ljust(yaml_lines.MOST_BYTES, b"x"))
    assert plain(read(file)) == {"a": 1}
    file.write_bytes(b"a: 1 #".ljust(yaml_lines.MOST_BYTES + 1, b"x"))
    with pytest.raises(ConfigError, match="larger than 1,000,000 bytes"):
        read(file)


def test_an_endless_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="larger than"):
        read(type(tmp_path)("/dev/zero"))


def test_a_file_that_is_not_utf8_is_refused_at_its_line(tmp_path):
    (tmp_path / "a.yaml").write_bytes("a: 1\nb: Zürich".encode("latin-1"))
    with pytest.raises(ConfigError, match="save it as UTF-8") as refused:
        read(tmp_path / "a.yaml")
    assert refused.value.line == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_is_read_with_and_without_a_mark(tmp_path, encoding):
    (tmp_path / "a.yaml").write_text("a: Zürich", encoding=encoding)
    assert plain(read(tmp_path / "a.yaml")) == {"a": "Zürich"}


def test_a_folder_and_a_missing_file_say_so(tmp_path):
    with pytest.raises(ConfigError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(ConfigError, match="no such file"):
        read(tmp_path / "a.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "a\0.yaml")


def test_a_pipe_is_read_like_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("a: 1",))
    writer.start()
    assert plain(read(tmp_path / "pipe")) == {"a": 1}
    writer.join()


@given(st.binary(max_size=60) | st.text("ab:-[]{}'\"#&*!|>%@ \n\t?,~", max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused_with_a_line(tmp_path_factory, raw):
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(raw)
    try:
        assert isinstance(read(file), Node)
    except ConfigError as error:
        assert error.line is not None and 1 <= error.line <= raw.count(b"\n") + raw.count(b"\r") + 2
