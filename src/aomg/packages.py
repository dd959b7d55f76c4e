"""Which packages are needed, in which versions, and whether they are there."""

import re
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True)
class Package:
    """A package by its name on PyPI, and the versions that will do: `at_least <= version < below`."""

    name: str
    at_least: str
    below: str | None = None

    def version(self) -> str | None:
        """Return the installed version, or None. Reads the package's description, does not import it: some 1 ms."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    def fault(self) -> str | None:
        """Return what is wrong with the installed version, or None if nothing is."""
        version = self.version()
        if version is None:
            return "not installed"
        if _numbers(version) < _numbers(self.at_least):
            return f"{version} is too old"
        if self.below is not None and _numbers(version) >= _numbers(self.below):
            return f"{version} is too new"
        return None

    def install(self) -> str:
        """Return the command that mends it."""
        below = f",<{self.below}" if self.below else ""
        return f"pip install '{self.name}>={self.at_least}{below}'"


PYARROW = Package("pyarrow", "18")
PYSPARK = Package("pyspark", "4.3", "4.4")
PANDAS = Package("pandas", "2.2", "3")  # Spark hands state to Python through pandas, and knows no pandas 3 yet
PROTOBUF = Package("protobuf", "6.33.5", "8")  # the runtime for the messages that Spark 4.3 has generated

CORE = (Package("numpy", "2"), Package("numba", "0.61"), PYARROW)
SPARK = (PYSPARK, PANDAS, PROTOBUF)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
