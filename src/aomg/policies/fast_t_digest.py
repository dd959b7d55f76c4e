"""A fast t-digest, by the library `fastdigest` (Rust)."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aomg.errors import InputError
from aomg.policies.base import Integers, Values
from aomg.policies.libraries import library
from aomg.policies.merged_sketches import MergedSketches
from aomg.query import Query

_BATCH = 4096


class FastDigest(MergedSketches):
    """t-digests of `max_centroids` (mean, weight) pairs, fed in batches of 4096.

    The library compresses after each batch. Batches start with the sub-window, not with a push, so answers do not
    depend on how the stream is split into pushes. Values that wait for their batch count as space.
    """

    name: ClassVar[str] = "fastdigest"
    title: ClassVar[str] = "fastdigest"
    promise: ClassVar[str] = "none; small rank errors in practice, smaller at both ends (interpolates across gaps)"

    def __init__(self, query: Query, max_centroids: int = 1000) -> None:
        self._library = library("fastdigest")
        self.max_centroids = max_centroids
        if not isinstance(max_centroids, int) or max_centroids < 1:
            raise InputError(f"max_centroids={max_centroids!r} of fastdigest must be a whole number above 0")
        self._batch = np.empty(min(_BATCH, query.period))
        self._waiting = 0
        super().__init__(query)

    def _make(self) -> Any:
        return self._library.TDigest(self.max_centroids)

    def _merge(self, into: Any, sketch: Any) -> None:
        into.merge_inplace(sketch)

    def accumulate(self, values: Values) -> None:
        """Fill batches and pass each full one to the library."""
        done = 0
        while done < values.size:
            part = values[done : done + self._batch.size - self._waiting]
            self._batch[self._waiting : self._waiting + part.size] = part
            self._waiting += part.size
            done += part.size
            if self._waiting == self._batch.size:
                self._flush()

    def _flush(self) -> None:
        self._open.batch_update(self._batch[: self._waiting])
        self._waiting = 0

    def close(self) -> None:
        """Flush the batch and add the sketch to the window."""
        if self._waiting:
            self._flush()
        super().close()

    def _values_at(self, sketch: Any, ranks: Integers, count: int) -> npt.ArrayLike:
        """Return the quantiles; the library maps a share q to rank 1 + q (n - 1)."""
        values: list[float] = sketch.quantile_vec(((ranks - 1) / max(count - 1, 1)).tolist())
        return values

    def _variables_of(self, sketch: Any) -> int:
        """Count two per centroid, and the digest's count, minimum and maximum."""
        return 2 * int(sketch.n_centroids) + 3

    def _bytes_of(self, sketch: Any) -> int:
        return len(sketch.to_bytes())

    def variables(self) -> int:
        """Count the variables of every sketch and the values that wait for their batch."""
        return super().variables() + self._waiting

    @property
    def nbytes(self) -> int:
        """Return the bytes of the same state, serialized."""
        return super().nbytes + 8 * self._waiting

    def parameters(self) -> dict[str, Any]:
        """Return the largest number of centroids of a digest."""
        return {"max_centroids": self.max_centroids}
