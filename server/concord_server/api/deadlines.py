"""How long a call may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message import Message

from concord_server.api.errors import DeadlineExceededError

DEFAULT_SECONDS = 30.0
"""Time for a unary call whose caller set no deadline."""

SECONDS_PER_ITEM = 0.1
"""Time on top of that for each item of a batch."""

_BATCH_ITEMS: Mapping[str, str] = {
    "concord.v1.ReconcileService/BatchReconcile": "requests",
    "concord.v1.ConsolidateService/AppendEvents": "events",
    "concord.v1.BriefingService/BatchGetFacts": "fact_ids",
}
"""The batch methods, and the field that holds their items."""


def default_seconds(method: str, request: Message) -> float:
    """Returns how long a unary call may take when its caller set no deadline."""
    items: Any = getattr(request, _BATCH_ITEMS[method]) if method in _BATCH_ITEMS else ()
    return DEFAULT_SECONDS + SECONDS_PER_ITEM * len(items)


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[None]:
    """Cancels its block after ``seconds``, and with it the query that it waits for; ``None`` is no limit.

    Raises:
        DeadlineExceededError: the time passed.
    """
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise DeadlineExceededError(f"the call did not end within {seconds:g} s") from None
        raise
