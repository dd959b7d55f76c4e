"""The packages that AOMG needs: versions, whether they are installed, and what installs them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

from aomg.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Package:
    """A package by its name on PyPI, and the versions that work: `at_least <= version < below`; None: any.

    `module` is what it is imported as, if that is not its name.
    """

    name: str
    at_least: str | None = None
    below: str | None = None
    module: str | None = None

    def version(self) -> str | None:
        """Return the installed version, or None. Reads the metadata, does not import the package: about 1 ms."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    def is_missing(self) -> bool:
        """Whether it cannot be imported. Does not import it, and needs no metadata, which some platforms leave out."""
        try:
            return find_spec(self.module or self.name) is None
        except ModuleNotFoundError:  # the package around it is missing
            return True

    def fault(self) -> str | None:
        """Return the problem with the installed version, or None."""
        version = self.version()
        return "not installed" if version is None else self.fault_of(version)

    def fault_of(self, version: str) -> str | None:
        """Return the problem with a version, or None."""
        if self.at_least is not None and _numbers(version) < _numbers(self.at_least):
            return f"{version} is too old"
        if self.below is not None and _numbers(version) >= _numbers(self.below):
            return f"{version} is too new"
        return None

    def install(self) -> str:
        """Return the command that installs a version that works."""
        limits = [f">={self.at_least}"] if self.at_least else []
        limits += [f"<{self.below}"] if self.below else []
        return f"pip install '{self.name}{','.join(limits)}'" if limits else f"pip install {self.name}"


PYARROW = Package("pyarrow", "18")
PYSPARK = Package("pyspark", "4.1", "5")
TESTED_SPARK = ("4.1", "4.2", "4.3")  # by make test-spark; later versions are not refused
PANDAS = Package("pandas", "2.2", "3")  # Spark passes state to Python through pandas, and does not support pandas 3 yet
PROTOBUF = Package("protobuf", "6.33.5", "8", "google.protobuf")  # the runtime for Spark's generated messages
PYYAML = Package("PyYAML", module="yaml")
PROMETHEUS = Package("prometheus-client", module="prometheus_client")

CORE = (Package("numpy", "2"), Package("numba", "0.61"), PYARROW)
SPARK = (PYSPARK, PANDAS, PROTOBUF)
EXTRAS = {
    "monitor": (*SPARK, PYYAML),
    "web": (Package("starlette"), Package("uvicorn"), Package("plotly"), PROMETHEUS, PYYAML),
}
"""The packages of the extras that commands need."""


def need(extra: str, *others: str) -> None:
    """Raise SettingsError with the command to run if a package of an extra is missing.

    The message then has the missing packages of `others`, too: so that one command installs all.
    """
    if not any(package.is_missing() for package in EXTRAS[extra]):
        return
    extras = [name for name in (extra, *others) if any(package.is_missing() for package in EXTRAS[name])]
    missing = dict.fromkeys(package.name for name in extras for package in EXTRAS[name] if package.is_missing())
    raise SettingsError(missing_text(missing, extras))


def named_missing(module: str, extra: str) -> str:
    """Return the same for a module that could not be imported, by the name of its package.

    >>> named_missing("yaml.reader", "monitor")
    "the package PyYAML is missing; run: pip install 'aomg[monitor]'"
    """
    top = module.partition(".")[0]
    names = {(package.module or package.name).partition(".")[0]: package.name for package in EXTRAS[extra]}
    return missing_text([names.get(top, top)], [extra])


def missing_text(packages: Iterable[str], extras: Iterable[str]) -> str:
    """Return which packages are missing, and the command that installs the extras.

    >>> missing_text(["starlette"], ["web"])
    "the package starlette is missing; run: pip install 'aomg[web]'"
    """
    *first, last = packages
    names = f"the packages {', '.join(first)} and {last} are" if first else f"the package {last} is"
    return f"{names} missing; run: {install_extras(extras)}"


def install_extras(extras: Iterable[str]) -> str:
    """Return the command that installs extras of this package, and repairs what it needs itself.

    >>> install_extras(["monitor", "web"]), install_extras([])
    ("pip install 'aomg[monitor,web]'", 'pip install aomg')
    """
    names = ",".join(extras)
    return f"pip install 'aomg[{names}]'" if names else "pip install aomg"


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
