"""KLL, REQ, classic quantiles sketch and t-digest of Apache DataSketches, by the library `datasketches` (C++).

The random numbers of the first three cannot be seeded from Python, so two runs differ. Rank r of n is requested as the
share (r - 1/2) / n, inclusive, so that rounding cannot select another rank.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Integers, Values
from aomg.policies.libraries import library
from aomg.policies.merged_sketches import MergedSketches
from aomg.query import Query

_EXTREMES_AND_COUNT = 3
_PREAMBLE = 16  # bytes at the start of a serialized t-digest; then minimum, maximum, centroids
_ONE_VALUE = 16  # bytes of a t-digest with one value
_CENTROID = np.dtype([("mean", "<f8"), ("weight", "<u8")])
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class _DataSketch(MergedSketches):
    """Base of all four: k sets space and accuracy."""

    def __init__(self, query: Query, k: int) -> None:
        self._library = library("datasketches")
        self.k = k
        try:
            super().__init__(query)
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.name} does not accept k={k!r}: {error}") from None

    def parameters(self) -> dict[str, Any]:
        """Return k."""
        return {"k": self.k}


class _RankSketch(_DataSketch):
    """Base of the three sketches that retain items."""

    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """Return the quantiles; the first and the last rank are the extremes, which the sketch stores separately."""
        values = np.array(sketch.get_quantiles(((ranks - 0.5) / count).tolist(), True))
        values[ranks == 1] = sketch.get_min_value()
        values[ranks == count] = sketch.get_max_value()
        return values

    def _variables_of(self, sketch: Any) -> int:
        """Count the retained items, and the sketch's count, minimum and maximum."""
        return int(sketch.num_retained) + _EXTREMES_AND_COUNT

    def _bytes_of(self, sketch: Any) -> int:
        return len(sketch.serialize())


class Kll(_RankSketch):
    """KLL sketches of doubles, with about 3 k items each, and 0.5 k to 3 k after a merge."""

    name: ClassVar[str] = "kll"
    title: ClassVar[str] = "KLL"
    promise: ClassVar[str] = "rank error within 1.33 % of the window (k = 200) in 99 % of cases; none for the value"

    def __init__(self, query: Query, k: int = 200) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.kll_doubles_sketch(self.k)


class Req(_RankSketch):
    """REQ sketches, accurate at high ranks: the error shrinks with 1 - phi. Space grows with the log of the count.

    The library has no REQ sketch of doubles: values are rounded to single precision (24 bits), larger ones refused.
    """

    name: ClassVar[str] = "req"
    title: ClassVar[str] = "REQ"
    promise: ClassVar[str] = "rank error relative to 1 - phi, with high probability: exact near the top, loose below"

    def __init__(self, query: Query, k: int = 12) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.req_floats_sketch(self.k, True)

    def accumulate(self, values: Values) -> None:
        """Round the values to single precision and pass them to the library."""
        if values.size and np.abs(values).max() > _LARGEST_SINGLE:
            raise InputError(f"req uses single precision and does not accept values above {_LARGEST_SINGLE:.3g}")
        self._open.update(values.astype(np.float32))


class ClassicQuantiles(_RankSketch):
    """The classic quantiles sketch: k items per level, one level per doubling of the count."""

    name: ClassVar[str] = "quantiles-sketch"
    title: ClassVar[str] = "Classic quantiles"
    promise: ClassVar[str] = "rank error within 1.41 % of the window (k = 128) in 99 % of cases; none for the value"

    def __init__(self, query: Query, k: int = 128) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.quantiles_doubles_sketch(self.k)


class TDigest(_DataSketch):
    """DataSketches' t-digest: centroids that are small at both ends. Deterministic.

    The centroids are the library's, the interpolation between them is ours.
    """

    name: ClassVar[str] = "t-digest"
    title: ClassVar[str] = "t-digest"
    promise: ClassVar[str] = "none; small rank errors in practice, smaller at both ends (interpolates across gaps)"

    def __init__(self, query: Query, k: int = 100) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.tdigest_double(self.k)

    def close(self) -> None:
        """Merge the library's buffer into the centroids, and add the sketch to the window."""
        self._open.compress()
        super().close()

    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """Interpolate between the middles of the centroids, and to the minimum and the maximum.

        The library's get_quantile (5.2) swaps the weights of the two centroids, so its values fall while the rank
        rises. Java has the fix (apache/datasketches-java#755); until C++ has it, we read the centroids.
        """
        serialized = sketch.serialize()
        if len(serialized) == _ONE_VALUE:
            return np.repeat(np.frombuffer(serialized, np.float64, 1, 8), ranks.size)
        least, most = np.frombuffer(serialized, np.float64, 2, _PREAMBLE)
        centroids = np.frombuffer(serialized, _CENTROID, offset=_PREAMBLE + 16)
        weights = centroids["weight"].astype(np.float64)
        positions = np.concatenate([[0.5], np.cumsum(weights) - weights / 2, [count - 0.5]])
        values: Values = np.interp(ranks - 0.5, positions, np.concatenate([[least], centroids["mean"], [most]]))
        return values

    def _variables_of(self, sketch: Any) -> int:
        """Count two per centroid, one per buffered value, the count and the extremes; computed from the bytes."""
        return (self._bytes_of(sketch) - _PREAMBLE) // 8 + 1

    def _bytes_of(self, sketch: Any) -> int:
        """Return the bytes with the buffer; without it, the library would compress the sketch first."""
        return int(sketch.get_serialized_size_bytes(True))
