"""Server-sent events: that something changed, never what. A view then asks again for what it shows.

Each viewer has one flag, so a slow one is told of the newest version only, and never holds others up.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from aomg.web.follow.live import Live

BEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 1_000


def event(version: int, data: dict[str, Any]) -> str:
    """One event, as the wire has it. JSON has no line ends, so nothing in the data can be taken for a field."""
    return f"id: {version}\nevent: changed\ndata: {json.dumps(data, allow_nan=False)}\n\n"


async def changes(
    live: Live, told: Callable[[], tuple[int, dict[str, Any]]], beat: float = BEAT_SECONDS
) -> AsyncIterator[str]:
    """The first event at once, then one for each change, and a comment now and then; ends when `live` dismisses all."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    changed.set()

    def wake() -> None:
        # the loop may be gone when the follower speaks for the last time
        if not loop.is_closed():
            loop.call_soon_threadsafe(changed.set)

    live.listen(wake)
    try:
        yield f"retry: {RETRY_MILLISECONDS}\n\n"
        while not live.is_dismissing:
            if changed.is_set():
                changed.clear()
                yield event(*told())
            try:
                await asyncio.wait_for(changed.wait(), beat)
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        live.forget(wake)


def answer(request: Request, live: Live, told: Callable[[], tuple[int, dict[str, Any]]]) -> Response:
    """The stream of events, for one viewer."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(None, 200, headers, "text/event-stream")
    stream = changes(live, told)
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)
