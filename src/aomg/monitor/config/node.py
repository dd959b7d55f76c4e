"""Defines a value of a configuration file with its line."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """A value of the file, with its line.

    value
        dict of Nodes by key (in the order of the file), list of Nodes, str, int, float, bool or None.
    line
        From 1: of its key in a mapping, else of its beginning.
    text
        Of a scalar: the text as written, so that 0.999 and 1.10 keep their digits.
    """

    value: "dict[str, Node] | list[Node] | str | int | float | bool | None"
    line: int
    text: str = ""

    @property
    def kind(self) -> str:
        """Its type in a word or two, for messages that must not show the value."""
        if isinstance(self.value, bool):
            return "true or false"
        names = {dict: "a mapping", list: "a list", str: "text", int: "a number", float: "a number"}
        return names.get(type(self.value), "nothing")
