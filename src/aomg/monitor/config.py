"""Reads a configuration, and builds its rules: what Python code starts from.

`load` reads a file; whatever is wrong in it is one ConfigError that names the file, the lines and what to do.
"""

from collections.abc import Mapping
from pathlib import Path

from aomg.monitor.alert_rules import Rule
from aomg.monitor.errors import ConfigError
from aomg.monitor.model import (
    Config,
    GenerateConfig,
    KafkaConfig,
    Options,
    QuarantineConfig,
    QueryConfig,
    ReceiverConfig,
    RuleConfig,
    SinkConfig,
    SinksConfig,
    SourceConfig,
)
from aomg.monitor.rules import build
from aomg.monitor.sections import read_config
from aomg.monitor.targets import Target

__all__ = [
    "EXAMPLE",
    "Config",
    "GenerateConfig",
    "KafkaConfig",
    "Options",
    "QuarantineConfig",
    "QueryConfig",
    "ReceiverConfig",
    "RuleConfig",
    "SinkConfig",
    "SinksConfig",
    "SourceConfig",
    "check_rules",
    "load",
]

EXAMPLE = Path(__file__).with_name("example.yaml")
"""The configuration that the demo runs, written to be read."""


def load(path: str | Path, *, folder: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Read a configuration and check all of it but the rules' expressions, for which see `check_rules`.

    Raises ConfigError, and nothing else, for whatever is wrong: up to ten problems at once, each with its line. Touches
    no other file. Relative paths are taken from `folder`, else from where the file is; ${NAME} from `environment`,
    else from the process's.
    """
    return read_config(Path(path), folder, environment)


def check_rules(config: Config) -> tuple[Rule | Target, ...]:
    """Return the configuration's rules, built. Raises ConfigError for up to ten that cannot be."""
    built, problems = [], []
    for rule in config.rules:
        try:
            built.append(build(rule, config.queries))
        except ConfigError as problem:
            problems.append(problem.placed(rule.line, config.file))
    if problems:
        raise ConfigError.together(problems)
    return tuple(built)
