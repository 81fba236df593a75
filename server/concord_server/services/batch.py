"""BatchReconcile: many statements in order, each its own transaction, embedded together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.errors import ConcordError
from concord_server.ports.embedder import Embedder, Vector
from concord_server.services.context import CallContext, Idempotency, Replay
from concord_server.services.embedding import embed_all
from concord_server.services.reconcile import Reconcile
from concord_server.services.results import ReconcileResult

EMBEDDED_TOGETHER = 64
"""How many statements are embedded at once, ahead of the one being written."""


@dataclass(frozen=True, slots=True)
class ReconcileItem:
    """One statement of a batch."""

    command: ReconcileCommand
    idempotency: Idempotency[ReconcileResult] | None = None


BatchItem = ReconcileItem | ConcordError
"""A statement, or what was wrong with it already when it was parsed."""

BatchOutcome = ReconcileResult | Replay | ConcordError
"""What became of one item."""


class BatchReconcile:
    """Reconciles many statements as if they were sent one by one in their order."""

    def __init__(self, reconcile: Reconcile, embedder: Embedder) -> None:
        self._reconcile = reconcile
        self._embedder = embedder

    async def execute(self, context: CallContext, items: Sequence[BatchItem]) -> AsyncIterator[BatchOutcome]:
        """Yields one outcome per item, in order; an item that fails harms no other.

        What was yielded is committed, so that on a deadline the finished prefix stays.
        """
        for start in range(0, len(items), EMBEDDED_TOGETHER):
            chunk = items[start : start + EMBEDDED_TOGETHER]
            vectors = await self._embed(context, chunk)
            for item, vector in zip(chunk, vectors, strict=True):
                yield await self._one(context, item, vector)

    async def _one(self, context: CallContext, item: BatchItem, vector: Vector | None) -> BatchOutcome:
        if isinstance(item, ConcordError):
            return item
        try:
            return await self._reconcile.execute(context, item.command, item.idempotency, vector)
        except ConcordError as error:
            return error

    async def _embed(self, context: CallContext, chunk: Sequence[BatchItem]) -> list[Vector | None]:
        """Embeds the valid statements of a chunk; one without a vector is embedded when its turn comes."""
        texts: dict[str, None] = {}
        for item in chunk:
            if isinstance(item, ReconcileItem):
                try:
                    await self._reconcile.validate(context, item.command)
                except ConcordError:
                    continue
                texts[item.command.text] = None
        embedded = await embed_all(self._embedder, list(texts)) if texts else None
        by_text = dict(zip(texts, embedded or [], strict=False))
        return [by_text.get(item.command.text) if isinstance(item, ReconcileItem) else None for item in chunk]
