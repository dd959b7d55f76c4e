"""Writes a draft as a configuration in YAML, with comments that say what was guessed and what else may be set."""

import json
import os
import re
from pathlib import Path
from typing import Any

from aomg.monitor.draft import names
from aomg.monitor.draft.draft import Draft
from aomg.monitor.draft.topic import Topic
from aomg.monitor.errors import ConfigError
from aomg.terminal import printable

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = re.compile(r"(?i)null|true|false|yes|no|on|off|y|n|none")
_COLUMN = 40  # where comments begin, if the line is not longer
_MOST_SHOWN = 12


def yaml_text(draft: Draft, file: Path) -> str:
    """The configuration, as the content of `file`: paths are relative to its folder if the data's is."""
    outputs = outputs_of(draft, file)
    parts = [
        _head(draft, file),
        _source(draft, file),
        _state(draft, outputs),
        _query(draft),
        _sinks(outputs),
        _rules(draft),
    ]
    return "\n".join(parts)


def outputs_of(draft: Draft, file: Path) -> dict[str, str]:
    """The names of the files and folders that the monitor writes beside the configuration.

    Two configurations in a folder have different ones, unless both are called aomg.yaml. Raises ConfigError if they
    would be inside the folder that is read.
    """
    folder = Path(os.path.abspath(file.parent))  # noqa: PTH100 (as in configurations: keeps links)
    prefix = "" if file.stem == "aomg" else f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', file.stem).lstrip('.-') or 'aomg'}-"
    source = Path(os.path.abspath(draft.data)) if isinstance(draft.data, Path) else None  # noqa: PTH100
    if source is not None and source.is_dir() and folder.is_relative_to(source):
        raise ConfigError(
            f"the results would be inside {draft.data}, the folder that is read; name a file outside of it, such as "
            f"../aomg.yaml"
        )
    for more in ("", "aomg-", "aomg-output-"):
        outputs = {name: f"{more}{prefix}{name}" for name in ("state", "quarantine", "results", "alerts.jsonl")}
        if source is None or not any(_overlap(folder / name, source) for name in outputs.values()):
            return outputs
    raise ConfigError(f"{draft.data} has the name of a folder that the monitor writes; name another file for it")


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _head(draft: Draft, file: Path) -> str:
    return f"""\
# A draft, written by aomg init after a look at {_in_comment(_place(draft))}. Change what is wrong, then
#
#     aomg check {_in_comment(file.name)}      reports mistakes
#     aomg run {_in_comment(file.name)}        runs it; with --once up to the end of the data
#
# Paths are relative to this file. docs/operations.md explains every key.
"""


def _place(draft: Draft) -> str:
    return draft.data.name if isinstance(draft.data, Topic) else str(draft.data)


def _source(draft: Draft, file: Path) -> str:
    sample = draft.sample
    lines = ["source:"]
    if isinstance(draft.data, Topic):
        topic = draft.data
        lines.append(_line(2, f"kafka: {{servers: {_scalar(topic.servers)}, topic: {_scalar(topic.name)}}}"))
    else:
        what = "every new file in this folder is read once"
        if not draft.data.is_dir():
            what = "this file is read once; to read files as they come, name a folder"
        lines.append(_line(2, f"{sample.kind}: {_scalar(_path(draft.data, file))}", what))
    time = draft.time
    also = f"or {', '.join(time.others)}" if time.others else "windows use these times, not the clock"
    lines.append(_line(2, f"time: {_scalar(time.name)}", also))
    if time.nanoseconds:
        lines.append(_line(2, "time_format: epoch_ns", "the files have nanoseconds"))
    elif not time.is_stored:
        lines.append(_line(2, f"time_format: {_scalar(time.guess.format)}", time.guess.doubt))
    if draft.time_zone is not None:
        doubt = "the times say no zone, and this is a guess: write one such as Europe/Berlin"
        is_guess = any(guess.what == "time zone" and guess.doubt for guess in draft.guesses)
        lines.append(_line(2, f"time_zone: {_scalar(draft.time_zone)}", doubt if is_guess else "of times without one"))
    columns = columns_of(draft)
    lines += [f"  # {_in_comment(text)}" for text in _about(draft)]
    if columns:
        entries = ", ".join(f"{_scalar(name)}: {kind}" for name, kind in columns.items())
        lines.append(_line(2, f"columns: {{{entries}}}"))
    if sample.options:
        entries = ", ".join(f"{name}: {_option(value)}" for name, value in sample.options.items())
        lines.append(_line(2, f"options: {{{entries}}}", "of Spark's reader"))
    return "\n".join(lines) + "\n"


def columns_of(draft: Draft) -> dict[str, str]:
    """The columns and types that the configuration lists; none if the files name them and the types are clear."""
    sample, value, time = draft.sample, draft.value, draft.time
    of_value = "long" if value.has_large or _is_whole(draft) else "double"
    if sample.kind == "parquet":
        if not time.nanoseconds:
            return {}
        used = {time.name: "long", value.name: of_value}
        return used | {name: _stored_type(draft, name) for name in draft.labels.values() if name not in used}
    if sample.kind == "csv" and sample.names_columns and not value.has_large:
        return {}
    listed = [name for name in sample.columns if name not in sample.folder_columns]
    if sample.kind != "csv":
        needed = {time.name, value.name, *draft.labels.values()}
        listed = [
            name for name in listed if name in needed or (name not in sample.unusable and names.is_writable(name))
        ]
    listed += [name for name in draft.labels.values() if name not in listed]
    return {name: of_value if name == value.name else "string" for name in listed}


def _is_whole(draft: Draft) -> bool:
    return draft.sample.kind == "parquet" and all(
        value is None or isinstance(value, int) for value in draft.sample.columns[draft.value.name]
    )


def _stored_type(draft: Draft, name: str) -> str:
    known = [value for value in draft.sample.columns[name] if value is not None]
    if any(isinstance(value, bool) for value in known):
        return "boolean"
    return "long" if known and all(isinstance(value, int) for value in known) else "string"


def _about(draft: Draft) -> list[str]:
    """What the sample says about each column."""
    lines = ["columns, as far as the sample shows:"]
    keys = {key.name: key.distinct for key in draft.keys}
    for name, values in list(draft.sample.columns.items())[:_MOST_SHOWN]:
        if name == draft.time.name:
            what = "the time"
        elif name == draft.value.name:
            what = "the value, numbers"
        elif name in draft.labels.values():
            what = "the key"
        elif name in draft.sample.unusable:
            what = draft.sample.unusable[name]
        elif name in keys:
            what = f"{keys[name]:,} values, may be a key"
        else:
            what = _type_of(values)
        lines.append(f"  {name or '(without a name)'}: {what}")
    more = len(draft.sample.columns) - _MOST_SHOWN
    return [*lines, f"  and {more:,} more"] if more > 0 else lines


def _type_of(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "empty"
    if all(isinstance(value, bool) for value in known):
        return "true or false"
    return "numbers" if all(re.fullmatch(r"[-+.\deE]+", str(value)) for value in known[:200]) else "text"


def _state(draft: Draft, outputs: dict[str, str]) -> str:
    lines = [
        _line(0, f"state: {outputs['state']}/", "a restart resumes from here"),
        _line(0, f"quarantine: {{folder: {outputs['quarantine']}/}}", "refused rows, each with the reason"),
    ]
    if draft.is_ahead:
        lines.append(_line(0, "clock: none", "there are times in the future, which would not be used otherwise"))
    return "\n".join(lines) + "\n"


def _query(draft: Draft) -> str:
    windows = draft.windows
    events = "" if windows.events is None else f"about {windows.events:,.0f} events of a key in a window"
    unit = f"unit: {draft.unit or 'none'}"
    about_unit = f"so that rules can say 250{draft.unit}" if draft.unit else "us, ms or s: then rules can say 250ms"
    lines = [
        "queries:",
        f"  {draft.query}:",
        _line(4, f"value: {_scalar(draft.value.name)}", "quantiles of this column"),
        _line(4, unit, about_unit),
    ]
    keys = ", ".join(f"{key.name} ({key.distinct:,} values)" for key in draft.keys[:5])
    also = f"may be keys, too: {keys}" if keys else ""
    if draft.labels:
        lines.append(_line(4, f"by: {_labels(draft.labels)}", also or "the key: a window for each of its values"))
    else:
        lines.append(_line(4, "# by: [COLUMN]", also or "a window for each value of a column, not one for all"))
    lines += [
        _line(4, f"size: {draft.size}", events),
        _line(4, f"period: {draft.period}", "a result this often"),
        _line(4, f"quantiles: [{', '.join(windows.quantiles)}]", "p50, p90, ... in rules"),
        _line(4, f"lateness: {draft.lateness}", "how long a window waits for late events"),
    ]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    if all(label == column for label, column in labels.items()):
        return f"[{', '.join(_scalar(label) for label in labels)}]"
    return "{" + ", ".join(f"{_scalar(label)}: {_scalar(column)}" for label, column in labels.items()) + "}"


def _sinks(outputs: dict[str, str]) -> str:
    lines = [
        "sinks:",
        _line(2, f"results: [{{parquet: {outputs['results']}/}}]", "a row for each key and window"),
        _line(2, f"alerts: [{{jsonl: {outputs['alerts.jsonl']}}}]", "a line for each change of an alert"),
        "# receivers:                          # who is told of alerts; docs/monitor.md has examples",
        "#   - alertmanager: http://127.0.0.1:9093",
    ]
    return "\n".join(lines) + "\n"


def _rules(draft: Draft) -> str:
    shown = "".join(f"{{{{ $labels.{label} }}}} " for label in draft.labels)
    lines = ["groups:", "  - name: examples", "    rules:"]
    for rule in draft.rules:
        top = rule.condition.split()[0]
        summary = f"{shown}{draft.query}: {top} {{{{ {top} }}}}"
        lines += [
            f"      - alert: {rule.name}",
            _line(8, f"expr: {rule.condition}", f"an example: {rule.comment}"),
            _line(8, f"for: {rule.wait}", "how long it must hold before the alert fires"),
            _line(8, f"min_count: {rule.min_count}", "ignore windows with fewer events"),
            f"        annotations: {{summary: {json.dumps(summary)}}}",
        ]
    return "\n".join(lines) + "\n"


def _path(data: Path, file: Path) -> str:
    """The path of the data in the configuration: relative if it was given so."""
    folder = Path(os.path.abspath(file.parent))  # noqa: PTH100
    whole = os.path.abspath(data)  # noqa: PTH100
    written = whole if data.is_absolute() else os.path.relpath(whole, folder)
    written = f"./{written}" if written.startswith("~") else written
    return f"{written}/" if data.is_dir() else written


def _line(indent: int, text: str, comment: str = "") -> str:
    line = " " * indent + text
    return f"{line:<{_COLUMN - 2}}  # {_in_comment(comment)}" if comment else line


def _in_comment(text: str) -> str:
    """A text of the data in a comment."""
    return printable(text)[:200]


def _scalar(text: str) -> str:
    """A text as a value or key of YAML."""
    plain = _PLAIN.fullmatch(text) is not None and _WORDS.fullmatch(text) is None
    return text if plain else json.dumps(text, ensure_ascii=False)


def _option(text: str) -> str:
    return text if text in ("true", "false") else _scalar(text)
