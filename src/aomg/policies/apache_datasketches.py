"""Apache DataSketches: KLL, REQ, the classic quantiles sketch and t-digest, by the library `datasketches` (C++).

Their randomness cannot be seeded from Python: of the first three, two runs differ. A rank r of n is asked as the share
(r - 1/2) / n, inclusive: no rounding of the share can then miss the element of that rank.
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
_PREAMBLE = 16  # bytes that a serialized t-digest begins with; then minimum, maximum, centroids
_ONE_VALUE = 16  # bytes of a t-digest that holds one
_CENTROID = np.dtype([("mean", "<f8"), ("weight", "<u8")])
_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class _DataSketch(MergedSketches):
    """What all four have in common: k, for space and accuracy."""

    def __init__(self, query: Query, k: int) -> None:
        self._library = library("datasketches")
        self.k = k
        try:
            super().__init__(query)
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.name} takes no k={k!r}: {error}") from None

    def parameters(self) -> dict[str, Any]:
        """Return k."""
        return {"k": self.k}


class _RankSketch(_DataSketch):
    """What the three sketches of retained items have in common."""

    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """The first and the last rank are the extremes, which the sketch knows and its quantiles forget."""
        values = np.array(sketch.get_quantiles(((ranks - 0.5) / count).tolist(), True))
        values[ranks == 1] = sketch.get_min_value()
        values[ranks == count] = sketch.get_max_value()
        return values

    def _variables_of(self, sketch: Any) -> int:
        """Retained items, and the sketch's count, minimum and maximum."""
        return int(sketch.num_retained) + _EXTREMES_AND_COUNT

    def _bytes_of(self, sketch: Any) -> int:
        return len(sketch.serialize())


class Kll(_RankSketch):
    """KLL sketches of doubles: about 3 k items each, 0.5 k to 3 k of them in a merge."""

    name: ClassVar[str] = "kll"
    promise: ClassVar[str] = "rank error within 1.33 % of the window (k = 200) in 99 % of cases; none for the value"

    def __init__(self, query: Query, k: int = 200) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.kll_doubles_sketch(self.k)


class Req(_RankSketch):
    """REQ sketches, accurate at high ranks: their error shrinks with 1 - phi. Space grows with the log of the count.

    The library has none of doubles: values are rounded to single precision (24 bits), and those beyond it are refused.
    """

    name: ClassVar[str] = "req"
    promise: ClassVar[str] = "rank error relative to 1 - phi, with high probability: exact near the top, loose below"

    def __init__(self, query: Query, k: int = 12) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.req_floats_sketch(self.k, True)

    def accumulate(self, values: Values) -> None:
        """Round the values to single precision, and give them to the library."""
        if values.size and np.abs(values).max() > _LARGEST_SINGLE:
            raise InputError(f"req counts in single precision and takes no value beyond {_LARGEST_SINGLE:.3g}")
        self._open.update(values.astype(np.float32))


class ClassicQuantiles(_RankSketch):
    """The classic quantiles sketch: k items a level, one level for each doubling of the count."""

    name: ClassVar[str] = "quantiles-sketch"
    promise: ClassVar[str] = "rank error within 1.41 % of the window (k = 128) in 99 % of cases; none for the value"

    def __init__(self, query: Query, k: int = 128) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.quantiles_doubles_sketch(self.k)


class TDigest(_DataSketch):
    """DataSketches' t-digest: centroids that are small at both ends, interpolated between. Deterministic.

    Its centroids are the library's; the interpolation between them is not.
    """

    name: ClassVar[str] = "t-digest"
    promise: ClassVar[str] = "none; small rank errors in practice, smaller at both ends (interpolates across gaps)"

    def __init__(self, query: Query, k: int = 100) -> None:
        super().__init__(query, k)

    def _make(self) -> Any:
        return self._library.tdigest_double(self.k)

    def close(self) -> None:
        """Merge what the library has buffered into the centroids, and put the sketch in the window."""
        self._open.compress()
        super().close()

    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """Interpolate between the middles of the centroids, and to the extremes, the first and the last value.

        The library's get_quantile (5.2) weighs the two centroids the wrong way round, so that it falls as the rank
        rises between them. Its siblings are mended (apache/datasketches-java#755); until it is, its centroids are read.
        """
        written = sketch.serialize()
        if len(written) == _ONE_VALUE:
            return np.repeat(np.frombuffer(written, np.float64, 1, 8), ranks.size)
        least, most = np.frombuffer(written, np.float64, 2, _PREAMBLE)
        centroids = np.frombuffer(written, _CENTROID, offset=_PREAMBLE + 16)
        weights = centroids["weight"].astype(np.float64)
        places = np.concatenate([[0.5], np.cumsum(weights) - weights / 2, [count - 0.5]])
        found: Values = np.interp(ranks - 0.5, places, np.concatenate([[least], centroids["mean"], [most]]))
        return found

    def _variables_of(self, sketch: Any) -> int:
        """Two for each centroid, one for each buffered value, the count and the extremes; told by the bytes."""
        return (self._bytes_of(sketch) - _PREAMBLE) // 8 + 1

    def _bytes_of(self, sketch: Any) -> int:
        """With the buffer: without it, the library would compress the sketch to tell."""
        return int(sketch.get_serialized_size_bytes(True))
