"""The packages that AOMG needs: versions, and whether they are installed."""

import re
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

from aomg.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Package:
    """A package by its name on PyPI, and the versions that work: `at_least <= version < below`."""

    name: str
    at_least: str
    below: str | None = None

    def version(self) -> str | None:
        """Return the installed version, or None. Reads the metadata, does not import the package: about 1 ms."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    def fault(self) -> str | None:
        """Return the problem with the installed version, or None."""
        version = self.version()
        return "not installed" if version is None else self.fault_of(version)

    def fault_of(self, version: str) -> str | None:
        """Return the problem with a version, or None."""
        if _numbers(version) < _numbers(self.at_least):
            return f"{version} is too old"
        if self.below is not None and _numbers(version) >= _numbers(self.below):
            return f"{version} is too new"
        return None

    def install(self) -> str:
        """Return the command that installs a version that works."""
        below = f",<{self.below}" if self.below else ""
        return f"pip install '{self.name}>={self.at_least}{below}'"


PYARROW = Package("pyarrow", "18")
PYSPARK = Package("pyspark", "4.1", "5")
TESTED_SPARK = ("4.1", "4.2", "4.3")  # by make test-spark; later versions are not refused
PANDAS = Package("pandas", "2.2", "3")  # Spark passes state to Python through pandas, and does not support pandas 3 yet
PROTOBUF = Package("protobuf", "6.33.5", "8")  # the runtime for Spark's generated messages

CORE = (Package("numpy", "2"), Package("numba", "0.61"), PYARROW)
SPARK = (PYSPARK, PANDAS, PROTOBUF)


def is_tested(version: str) -> bool:
    """Whether the tests run on this version of Spark, by its first two numbers."""
    return _numbers(version)[:2] in map(_numbers, TESTED_SPARK)


def optional(module: str, install: str) -> Any:
    """Import a module of a package that is not always installed. Raises SettingsError with the command `install`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise SettingsError(f"the package {error.name} is missing; run: {install}") from None


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
