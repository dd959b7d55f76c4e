"""Response bodies: bytes, compressed at most once."""

import gzip
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_LEAST_COMPRESSED = 1_400  # smaller bodies are sent as they are


@dataclass(frozen=True, eq=False)
class Body:
    """A response body; compressed on first use."""

    content: bytes

    @cached_property
    def compressed(self) -> bytes | None:
        """The body as gzip, or None where compression is not worth it."""
        return gzip.compress(self.content, 3, mtime=0) if len(self.content) >= _LEAST_COMPRESSED else None

    @property
    def size(self) -> int:
        """Bytes, with an allowance for the compressed copy."""
        return len(self.content) * 5 // 4


def json_bytes(value: Any) -> bytes:
    """JSON without spaces, in ASCII. Raises ValueError for NaN and infinity, which JSON does not have."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
