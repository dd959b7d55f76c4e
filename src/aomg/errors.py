"""Every error that AOMG raises. Each message says what is wrong and what to do about it.

All of them are AomgError; the ones that stand for a wrong argument are ValueError or TypeError as well, so that
code which knows nothing of AOMG can still catch them.
"""


class AomgError(Exception):
    """The root of all errors of this package."""


class QueryError(AomgError, ValueError):
    """A query that cannot be answered: sizes, quantiles, digits or a guarantee that do not fit together."""


class DurationError(AomgError, ValueError):
    """Something that is not a duration. Who asked for it raises an error of its own that names the place."""


class InputError(AomgError, TypeError):
    """Values or times of a kind that cannot be pushed. Nothing of the push was taken."""


class FinishedError(AomgError, RuntimeError):
    """An operator that has finished its stream was given more of it."""


class StateError(AomgError, ValueError):
    """Saved bytes that are damaged, of another version, or of another query. Nothing was loaded."""


class SettingsError(AomgError, RuntimeError):
    """A machine or a Spark session that lacks what is needed: Java, a package, a setting. No query was started."""


class UnknownQuantileError(AomgError, KeyError):
    """A result was asked for a quantile or a threshold that its query does not have."""

    def __str__(self) -> str:
        """Return the message as it is: KeyError would show it in quotes."""
        return str(self.args[0]) if self.args else ""
