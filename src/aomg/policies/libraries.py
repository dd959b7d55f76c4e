"""Sketch libraries are optional: they are loaded when a policy that needs one is made, never before."""

from importlib import import_module
from typing import Any

from aomg.errors import SettingsError


def library(name: str) -> Any:
    """The module of an optional library. Raises SettingsError with the line that installs it."""
    try:
        return import_module(name)
    except ImportError as error:
        needed = name.partition(".")[0]
        raise SettingsError(
            f"this policy needs the library {needed!r}, which cannot be loaded ({error}): pip install 'aomg[peers]'"
        ) from error
