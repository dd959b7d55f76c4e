"""Server-sent events: report that there is a new version; a view then requests its data again.

Each viewer has one flag: a slow viewer gets only the newest version, and never delays others.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from aomg.web.follow.live import LiveData

BEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 1_000


def event(version: int, data: dict[str, Any]) -> str:
    """Format one event. JSON has no line breaks, so the data cannot break the format."""
    return f"id: {version}\nevent: changed\ndata: {json.dumps(data, allow_nan=False)}\n\n"


async def changes(
    live: LiveData, latest: Callable[[], tuple[int, dict[str, Any]]], beat: float = BEAT_SECONDS
) -> AsyncIterator[str]:
    """Yield one event at once, then one per change, and heartbeats; ends when `live` dismisses its viewers."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    changed.set()

    def wake() -> None:
        # the loop may be closed when the follower notifies for the last time
        if not loop.is_closed():
            loop.call_soon_threadsafe(changed.set)

    live.listen(wake)
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        while not live.is_dismissing:
            if changed.is_set():
                changed.clear()
                yield event(*latest())
            try:
                await asyncio.wait_for(changed.wait(), beat)
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        live.forget(wake)


def answer(request: Request, live: LiveData, latest: Callable[[], tuple[int, dict[str, Any]]]) -> Response:
    """Return the event stream of one viewer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(None, 200, headers, "text/event-stream")
    stream = changes(live, latest)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
