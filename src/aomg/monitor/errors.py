"""Defines the monitor's errors. Each says what is wrong, where in the configuration, and what to do."""

from collections.abc import Sequence
from pathlib import Path

from aomg.errors import AomgError

MOST_PROBLEMS = 10


class ConfigError(AomgError, ValueError):
    """A configuration that cannot be run. Nothing was started or written.

    message
        What is wrong and what to do, without file and line.
    line
        Of the configuration file, from 1; None for the file as a whole, or if it is not known yet.
    file
        The configuration file; `placed` adds it.
    problems
        This error alone, or up to ten that are reported at once (see `together`).

    >>> print(ConfigError("unknown key 'quantile'; did you mean quantiles?", 12).placed(file="aomg.yaml"))
    aomg.yaml, line 12: unknown key 'quantile'; did you mean quantiles?
    """

    def __init__(self, message: str, line: int | None = None, file: str | Path | None = None) -> None:
        super().__init__(message, line, file)
        self.message = message
        self.line = line
        self.file = file
        self.problems: tuple[ConfigError, ...] = (self,)

    def placed(self, line: int | None = None, file: str | Path | None = None) -> "ConfigError":
        """Return the same error with a line and a file, where it has none."""
        problems = [
            ConfigError(p.message, p.line if p.line is not None else line, p.file if p.file is not None else file)
            for p in self.problems
        ]
        return ConfigError.together(problems)

    @classmethod
    def together(cls, problems: Sequence["ConfigError"]) -> "ConfigError":
        """Return one error for up to ten problems, in the order of their lines; its line is that of the first."""
        parts = [part for problem in problems for part in problem.problems]
        parts.sort(key=lambda part: part.line or 0)
        first = cls(parts[0].message, parts[0].line, parts[0].file)
        if len(parts) > 1:
            first.problems = tuple(parts[:MOST_PROBLEMS])
        return first

    def __str__(self) -> str:
        """One line for each problem: file, line, message."""
        return "\n".join(problem._line() for problem in self.problems)

    def _line(self) -> str:
        place = [_short(self.file)] if self.file is not None else []
        place += [f"line {self.line}"] if self.line is not None else []
        return ": ".join([", ".join(place), self.message]) if place else self.message


def _short(file: str | Path) -> str:
    """A path, relative to the current folder if it is inside."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


class RunError(AomgError, RuntimeError):
    """A monitor that had to stop. All files are complete, and the next start resumes from there."""
