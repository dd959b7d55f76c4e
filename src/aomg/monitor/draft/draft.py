"""Drafts a configuration: samples the data, guesses what the columns mean, and chooses windows and rules."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aomg.durations import duration_text
from aomg.monitor.draft import names
from aomg.monitor.draft.csv_sample import csv_sample
from aomg.monitor.draft.data_files import KINDS, DataFiles, data_files
from aomg.monitor.draft.example_rules import ExampleRule, example_rules
from aomg.monitor.draft.guess import Guess
from aomg.monitor.draft.json_sample import json_sample
from aomg.monitor.draft.parquet_sample import parquet_sample
from aomg.monitor.draft.roles import KeyRole, TimeRole, ValueRole, key_roles, require, time_role, value_role
from aomg.monitor.draft.sample import MOST_FILES, Sample
from aomg.monitor.draft.topic import Topic, topic_of, topic_sample
from aomg.monitor.draft.windows import Rate, WindowChoice, rate_of, rate_text, windows_of
from aomg.monitor.errors import ConfigError

_LEAST_KEY_SCORE = 2.0
_MOST_COMBINATIONS = 100_000


@dataclass(frozen=True)
class Settings:
    """What is not to be guessed; None: guess."""

    time: str | None = None
    time_format: str | None = None
    time_zone: str | None = None
    value: str | None = None
    unit: str | None = None
    by: tuple[str, ...] = ()
    one_key: bool = False
    size: str | None = None
    period: str | None = None
    lateness: str | None = None
    kind: str | None = None
    header: bool | None = None
    separator: str | None = None


@dataclass(frozen=True)
class Draft:
    """A drafted configuration, before it is written as YAML. `data` is where events come from."""

    data: Path | Topic
    sample: Sample
    time: TimeRole
    time_zone: str | None
    value: ValueRole
    unit: str | None
    query: str
    labels: dict[str, str]
    keys: tuple[KeyRole, ...]
    size: str
    period: str
    lateness: str
    windows: WindowChoice
    rate: Rate
    rules: tuple[ExampleRule, ...]
    is_ahead: bool
    """Whether there are times in the future, which the monitor would leave out."""
    guesses: tuple[Guess, ...]


def draft_of(data: str, settings: Settings) -> Draft:
    """Look at data and draft a configuration. Raises ConfigError if there is none to be drafted, with what to do."""
    topic = topic_of(data)
    sample = _sampled(data, settings) if topic is None else topic_sample(topic)
    times = time_role(sample, settings.time, settings.time_format)
    value = value_role(sample, times.name, settings.value)
    unit, unit_word = names.unit_of(value.name)
    if settings.unit is not None:
        unit = None if settings.unit == "none" else settings.unit
    keys = key_roles(sample, (times.name, value.name))
    by = _key(sample, keys, settings)
    rate = rate_of(sample, times.guess.micros)
    combinations = _combinations(sample, by)
    windows = windows_of(rate, combinations, topic is not None)
    query = names.query_of(value.name)
    zone = None if times.guess.has_zone or times.nanoseconds else settings.time_zone or "UTC"
    numbers = [number for number in value.numbers if number is not None]
    return Draft(
        data=Path(data) if topic is None else topic,
        sample=sample,
        time=times,
        time_zone=settings.time_zone or zone,
        value=value,
        unit=unit,
        query=query,
        labels=_labels(by),
        keys=tuple(key for key in keys if key.name not in by),
        size=settings.size or duration_text(windows.size),
        period=settings.period or duration_text(windows.period),
        lateness=settings.lateness or duration_text(windows.lateness),
        windows=windows,
        rate=rate,
        rules=tuple(example_rules(query, unit, numbers, windows)),
        is_ahead=rate.last is not None and rate.last > time.time() * 1e6,
        guesses=tuple(
            _guesses(settings, sample, times, zone, value, unit, unit_word, by, keys, rate, windows, combinations)
        ),
    )


def _sampled(data: str, settings: Settings) -> Sample:
    if settings.kind not in (None, *KINDS):
        raise ConfigError(f"--format {settings.kind}: write {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    separator = "\t" if settings.separator == "\\t" else settings.separator
    if separator is not None and (len(separator) != 1 or separator in '\r\n"'):
        raise ConfigError(f"--separator {settings.separator!r} must be one character, such as ';' or '\\t'")
    files: DataFiles = data_files(Path(data), settings.kind)
    if files.kind == "csv":
        return csv_sample(files, settings.header, separator)
    return json_sample(files) if files.kind == "jsonl" else parquet_sample(files)


def _key(sample: Sample, keys: Sequence[KeyRole], settings: Settings) -> tuple[str, ...]:
    if settings.one_key:
        return ()
    for column in settings.by:
        require(sample, column, "--by")
        if not names.can_be_label(column):
            raise ConfigError(f"--by {column}: this is the name of a column of the results; rename it in the data")
    if settings.by:
        return tuple(dict.fromkeys(settings.by))
    return (keys[0].name,) if keys and keys[0].score >= _LEAST_KEY_SCORE else ()


def _combinations(sample: Sample, by: Sequence[str]) -> int:
    if not by:
        return 1
    rows = zip(*(map(str, sample.columns[name]) for name in by), strict=True)
    return len(set(list(rows)[:_MOST_COMBINATIONS]))


def _labels(by: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for column in by:
        label, number = names.label_of(column), 2
        while label.lower() in map(str.lower, labels):
            label, number = f"{names.label_of(column)}_{number}", number + 1
        labels[label] = column
    return labels


def _guesses(
    settings: Settings,
    sample: Sample,
    times: TimeRole,
    zone: str | None,
    value: ValueRole,
    unit: str | None,
    unit_word: str,
    by: Sequence[str],
    keys: Sequence[KeyRole],
    rate: Rate,
    windows: WindowChoice,
    combinations: int,
) -> list[Guess]:
    """What to say about each guess, in the order of the file."""
    rows = f"{sample.rows:,} rows" + (f" of {min(sample.files, MOST_FILES)} files" if sample.files > 1 else "")
    looked = f"looked at {rows}" + (
        f", of about {sample.total:,.0f}" if sample.total is not None and sample.total > 1.5 * sample.rows else ""
    )
    source = {"csv": "CSV", "jsonl": "JSON lines", "parquet": "Parquet", "kafka": "JSON messages"}[sample.kind]
    details = [f"{name} {_shown(text)}" for name, text in sample.options.items() if name != "header"]
    if sample.kind == "csv":
        details.insert(0, "with a header" if sample.names_columns else "without a header")
    guesses = [Guess("format", ", ".join([source, *details]), looked, "--header, --separator" if details else "")]
    others = f"{', '.join(times.others)} may be meant" if times.others else ""
    guesses.append(
        Guess(
            "time",
            times.name,
            "set by --time" if settings.time else f"every value is a time; {_span(rate)}",
            "--time",
            others,
            settings.time is not None,
        )
    )
    if not times.is_stored or times.nanoseconds:
        form = "epoch_ns" if times.nanoseconds else times.guess.format
        guesses.append(
            Guess(
                "time format",
                form,
                "set by --time-format" if settings.time_format else "it reads the values of the sample",
                "--time-format",
                times.guess.doubt,
                settings.time_format is not None,
            )
        )
    if settings.time_zone or zone is not None:
        given = settings.time_zone is not None
        guesses.append(
            Guess(
                "time zone",
                settings.time_zone or str(zone),
                "set by --time-zone" if given else "the times say none",
                "--time-zone",
                "" if given else "UTC is assumed",
                given,
            )
        )
    others = f"{', '.join(value.others[:3])} may be meant" if value.others else ""
    guesses.append(Guess("value", value.name, value.why, "--value", others, settings.value is not None))
    if settings.unit is not None:
        guesses.append(Guess("unit", settings.unit, "set by --unit", "--unit", is_given=True))
    elif unit is not None:
        guesses.append(Guess("unit", unit, f"the name ends in {unit_word}", "--unit"))
    else:
        why = f"{unit_word} are no unit of rules: limits are plain numbers" if unit_word else "the name says none"
        guesses.append(Guess("unit", "none", why, "--unit", "" if unit_word else "us, ms or s if it is a time"))
    guesses.append(_key_guess(settings, by, keys, combinations))
    guesses.append(_window_guess(settings, rate, windows, combinations))
    return guesses


def _key_guess(settings: Settings, by: Sequence[str], keys: Sequence[KeyRole], combinations: int) -> Guess:
    more = [f"{key.name} ({key.distinct:,})" for key in keys if key.name not in by][:3]
    others = f"{', '.join(more)} may be keys, too" if more else ""
    if settings.by or settings.one_key:
        option = "--by" if settings.by else "--one-key"
        values = f"{combinations:,} keys" if by else "all events are one key"
        return Guess("key", ", ".join(by) or "none", f"set by {option}: {values}", "--by", is_given=True)
    if by:
        return Guess("key", by[0], f"{combinations:,} values that are repeated", "--by, --one-key", others)
    return Guess("key", "none", "no column has few values that are repeated", "--by", others)


def _window_guess(settings: Settings, rate: Rate, windows: WindowChoice, combinations: int) -> Guess:
    size = settings.size or duration_text(windows.size)
    period = settings.period or duration_text(windows.period)
    given = settings.size is not None and settings.period is not None
    text = f"{size} every {period}"
    if given:
        return Guess("window", text, "set by --size and --period", "--size, --period", is_given=True)
    if rate.a_second is None or windows.events is None:
        return Guess("window", text, "the rate of events is unknown", "--size, --period", "it may not fit")
    a_key = rate_text(rate.a_second / max(combinations, 1))
    doubt = "the data are too short or too sparse for 1,000 events of a key" if windows.is_short else ""
    why = f"{a_key} of a key: {windows.events:,.0f} in a window"
    return Guess("window", text, why, "--size, --period", doubt)


def _span(rate: Rate) -> str:
    if rate.span is None:
        return "the times are all the same" if rate.last is not None else "they cannot be read here"
    whole = max(rate.span // 1_000_000, 1) * 1_000_000
    units = (86_400_000_000, 3_600_000_000, 60_000_000)
    unit = next((unit for unit in units if whole >= 2 * unit), 1_000_000)
    return f"they span {duration_text(whole // unit * unit)}"


def _shown(text: str) -> str:
    return "" if text == "true" else repr(text)
