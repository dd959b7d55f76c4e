"""The stateful operator of a streaming query: light on the driver, all of Level 2 on workers.

When a streaming query starts, Spark starts a Python process on the driver that asks the operator which state it needs.
That process loads this module only. `aomg.spark` would load kernels and Arrow, which takes a second and a half.
"""

import pickle
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle


def map_state(handle: StatefulProcessorHandle, name: str) -> MapState:
    """A map of the state store: tables by number."""
    return handle.getMapState(name, "entry long", "content binary")


class ShardOperator(StatefulProcessor):
    """The stateful operator: one group is one shard.

    processor
        Does the work on workers (`ShardProcessor`).
    values
        The names of all single values of the state, and their schemas.
    maps
        The names of all maps of the state.
    """

    def __init__(self, processor: StatefulProcessor, values: dict[str, str], maps: tuple[str, ...]) -> None:
        self._packed = pickle.dumps(processor)
        self._values, self._maps = values, maps
        self._processor: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        if TaskContext.get() is not None:
            self._processor = pickle.loads(self._packed)
            self._processor.init(handle)
            return
        for name, schema in self._values.items():
            handle.getValueState(name, schema)
        for name in self._maps:
            map_state(handle, name)

    def close(self) -> None:
        """Nothing to release."""

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: N802
        """Start with stored summaries."""
        self._processor.handleInitialState(key, initialState, timerValues)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Process a micro-batch."""
        yield from self._processor.handleInputRows(key, rows, timerValues)
