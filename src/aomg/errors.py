"""The errors that AOMG raises. Each message says what is wrong and how to fix it.

All of them are AomgError. Errors about an argument are also ValueError or TypeError, so that code that does not know
AOMG can catch them.
"""


class AomgError(Exception):
    """The base class of all errors of this package."""


class QueryError(AomgError, ValueError):
    """Invalid query: a size, quantiles, digits or a guarantee that are wrong or contradict each other."""


class DurationError(AomgError, ValueError):
    """Invalid duration. Callers raise an error of their own that names the argument or the configuration key."""


class InputError(AomgError, TypeError):
    """Invalid input: values, times, columns or arguments of the wrong kind. No event of the call was used."""


class FinishedError(AomgError, RuntimeError):
    """Events were pushed to an operator after `finish`."""


class StateError(AomgError, ValueError):
    """Invalid saved state: damaged, of another version, or of another query. Nothing was loaded."""


class DamagedFileError(StateError):
    """A stored file whose content is not what was written. Nothing of it was used.

    file, reason
        Which file, and how that is known.
    remedy
        What to do.
    """

    def __init__(
        self,
        file: object,
        reason: str,
        remedy: str = "restore it from a backup, or move it away: what it holds is lost",
    ) -> None:
        self.file, self.reason = file, reason
        super().__init__(f"{file} is damaged ({reason}); {remedy}")


class SettingsError(AomgError, RuntimeError):
    """The machine or the Spark session lacks Java, a package or a setting. No query was started."""


class UnknownQuantileError(AomgError, KeyError):
    """A quantile or a threshold that the query of a result does not have."""

    def __str__(self) -> str:
        """Return the message without the quotes that KeyError adds."""
        return str(self.args[0]) if self.args else ""
