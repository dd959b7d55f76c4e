"""Writes a drafted configuration to its file, complete and checked, or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from aomg.monitor.config.reader import load
from aomg.monitor.draft.draft import Draft
from aomg.monitor.draft.yaml_text import yaml_text
from aomg.monitor.errors import ConfigError
from aomg.monitor.run.check import inspect
from aomg.monitor.source.header import with_header


def refuse_existing(file: Path, force: bool) -> None:
    """Raise ConfigError if a file exists and must not be replaced, or cannot be written."""
    if file.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{file} must end in .yaml: it is the configuration that is written")
    if file.is_dir():
        raise ConfigError(f"{file} is a folder; name a file")
    if (file.exists() or file.is_symlink()) and not force:
        raise ConfigError(f"{file} exists; name another file, or replace it with --force")
    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent}; create it, or name a file elsewhere")


def write(draft: Draft, file: Path, force: bool) -> None:
    """Write a draft. Raises ConfigError, and writes nothing, if `aomg check` would refuse it."""
    text = yaml_text(draft, file)
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        try:
            partial.write_text(text, "utf-8")
        except OSError as error:
            raise ConfigError(f"{file} cannot be written ({error.strerror}); change the permissions") from None
        try:
            inspect(with_header(load(partial)))
        except ConfigError as problem:
            lines = "\n".join(f"  {one.message}" for one in problem.problems)
            raise ConfigError(f"the configuration would not be valid, and was not written:\n{lines}") from None
        if force:
            partial.replace(file)
            return
        try:
            os.link(partial, file)  # fails if another program has written the file since
        except FileExistsError:
            refuse_existing(file, force)
        except OSError:  # a file system without links
            with file.open("x") as other:
                other.write(text)
    finally:
        with suppress(OSError):
            partial.unlink()
