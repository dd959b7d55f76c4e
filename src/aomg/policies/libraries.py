"""Loads optional sketch libraries, when a policy that needs one is created."""

from importlib import import_module
from typing import Any

from aomg.errors import SettingsError


def library(name: str) -> Any:
    """Return the module of an optional library; raise SettingsError with the install command if it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        needed = name.partition(".")[0]
        raise SettingsError(
            f"this policy needs the library {needed!r}, which cannot be loaded ({error}): pip install 'aomg[peers]'"
        ) from error
