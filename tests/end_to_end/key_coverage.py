"""Records which keys of the configuration and which options of the commands have gone through a real run.

Nothing is listed by hand. A key is known because the reader of configurations asked a `Section` for it, and exercised
because it is in the file of a run. An option is known because the Typer application has it, and exercised because it
is in the arguments of a run. The name of an entry says where it stands:

==============================  ======================================================================================
queries.*.size                  a key of every query
receivers[].webhook             a kind of receiver
receivers[](webhook).headers    a key beside it, for this kind
queries.*.unit=ms               a word that a key takes
source(csv).options.header      an option of Spark's
aomg query --last               an option of a command
aomg query RESULTS              an argument of a command
aomg version                    a command
==============================  ======================================================================================
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
from typer.testing import CliRunner, Result

from aomg.cli import app
from aomg.monitor.config import options, values
from aomg.monitor.config.reader import load
from aomg.monitor.config.schema import Section

_COMMANDS: Mapping[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@dataclass
class Reading:
    """The keys that the reader knew while it read a configuration, and those that were there."""

    known: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record every configuration that is read in this process."""
        begin, choose, take, close = Section.__init__, Section.choose, Section.take, Section.close

        def begun(section: Any, given: Any) -> None:
            begin(section, given)
            name = re.sub(r"\[\d+\]", "[]", given.name)
            section.place = re.sub(r"^queries\.[^.]+", "queries.*", name)
            section.kinds = ()

        def chosen(section: Any, among: Iterable[str]) -> str:
            section.kinds = tuple(among)
            kind = choose(section, section.kinds)
            self.known.update(_inside(section.place, section.kinds))
            self.there.update(_inside(section.place, [kind]))
            section.place += f"({kind})"
            return kind

        def taken(section: Any, key: str, kind: Any, *default: Any) -> Any:
            (place,) = _inside(section.place, [key])
            endings = set(endings_of(kind))
            self.known.update(place + ending for ending in endings)
            if key in section:
                node = section._entries[key]
                inside = [f".{name}" for name in node.value] if isinstance(node.value, dict) else [f"={node.text}"]
                self.there.update(place + ending for ending in endings.intersection(inside))
            return take(section, key, kind, *default)

        def closed(section: Any, also: Iterable[str] = (), why: Any = None) -> None:
            close(section, also, why)
            known = {*section._known, *also}.difference(section.kinds)
            self.known.update(_inside(section.place, known))
            self.there.update(_inside(section.place, known.intersection(section._entries)))

        with ExitStack() as patched:
            for name, recorder in (("__init__", begun), ("choose", chosen), ("take", taken), ("close", closed)):
                patched.enter_context(mock.patch.object(Section, name, recorder))
            yield


def _inside(place: str, keys: Iterable[str]) -> set[str]:
    return {f"{place}.{key}" if place else key for key in keys}


def endings_of(kind: Any) -> Iterator[str]:
    """What may follow the name of a key: the words that it takes, or the options of Spark's that it has."""
    if not inspect.isfunction(kind):
        return
    around = inspect.getclosurevars(kind).nonlocals
    if kind.__module__ == values.__name__ and "choices" in around:
        yield from (f"={word}" for word in around["choices"])
    elif kind.__module__ == options.__name__ and "by_lower_case" in around:
        yield from (f".{name}" for name in around["by_lower_case"].values())
    else:
        for inner in around.values():
            yield from endings_of(inner)


def options_there_are() -> set[str]:
    """Every command, and every argument and option of it; of a pair such as --web/--no-web both."""
    entries = {f"aomg {name}" for name in _COMMANDS}
    for name, command in _COMMANDS.items():
        for parameter in command.params:
            entries |= {f"aomg {name} {written}" for written in _written(parameter)}
    return entries


def options_in(arguments: Sequence[str]) -> set[str]:
    """Those that a command line has."""
    name, *rest = arguments
    command = _COMMANDS[name]
    context = command.make_context(name, list(rest))
    entries = {f"aomg {name}"}
    for parameter in command.params:
        if context.get_parameter_source(parameter.name).name == "COMMANDLINE":
            written = _written(parameter)
            here = written.intersection(rest) if len(written) > 1 else written
            entries |= {f"aomg {name} {one}" for one in here}
    return entries


def _written(parameter: Any) -> set[str]:
    """How a parameter is written: an argument in capitals, an option by its long name, a flag by both."""
    if parameter.param_type_name == "argument":
        return {parameter.metavar or parameter.name.upper()}
    return {max(names, key=len) for names in (parameter.opts, parameter.secondary_opts) if names}


@dataclass
class Table:
    """Every key and option, and the runs that it has gone through."""

    runs: dict[str, list[str]] = field(default_factory=lambda: {entry: [] for entry in sorted(options_there_are())})

    def aomg(self, *arguments: object, code: int = 0, **environment: str) -> Result:
        """Run a command here, and put what it went through into the table. Fails if it ends with another code."""
        words, reading = list(map(str, arguments)), Reading()
        with reading.recording():
            done = CliRunner(env={"COLUMNS": "160", **environment}).invoke(app, words)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        self.note(words)
        if words[0] == "run":
            with mock.patch.dict("os.environ", environment):
                checkpoint = load(words[1]).state / "checkpoint"
            assert any(checkpoint.glob("commits/[0-9]*")), "no micro-batch went through Spark"
            self._add(reading.there, reading.known, words)
        return done

    def note(self, words: Sequence[str]) -> None:
        """Put a command line that was run elsewhere into the table."""
        self._add(options_in(words), (), words)

    def _add(self, there: Iterable[str], known: Iterable[str], words: Sequence[str]) -> None:
        run = " ".join(["aomg", *(Path(word).name for word in words)])
        for entry in known:
            self.runs.setdefault(entry, [])
        for entry in there:
            if run not in self.runs[entry]:
                self.runs[entry].append(run)

    def without_a_run(self) -> set[str]:
        """Keys and options that nothing has gone through."""
        return {entry for entry, runs in self.runs.items() if not runs}
