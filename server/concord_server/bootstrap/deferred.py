"""Stand-ins for parts that are still starting, so that the port can be bound and health asked meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from concord_server.domain.errors import UnavailableError
from concord_server.ports.embedder import Embedder, EmbedderUnavailableError, Vector
from concord_server.ports.ledger import Ledger, ReadSession, WriteSession


class DeferredLedger:
    """A ledger that is unavailable until it is connected."""

    def __init__(self) -> None:
        self._ledger: Ledger | None = None

    def connect(self, ledger: Ledger) -> None:
        """Makes the ledger available."""
        self._ledger = ledger

    def read(self, project: str) -> AbstractAsyncContextManager[ReadSession]:
        """Opens a session that reads.

        Raises:
            UnavailableError: the ledger is not connected yet.
        """
        return self._connected().read(project)

    def write(self, project: str) -> AbstractAsyncContextManager[WriteSession]:
        """Opens a transaction.

        Raises:
            UnavailableError: the ledger is not connected yet.
        """
        return self._connected().write(project)

    def _connected(self) -> Ledger:
        if self._ledger is None:
            raise UnavailableError("the service is starting; try again in a moment")
        return self._ledger


class DeferredEmbedder:
    """An embedder that is unavailable until it is connected."""

    def __init__(self, name: str, dimension: int) -> None:
        self._name = name
        self._dimension = dimension
        self._embedder: Embedder | None = None

    def connect(self, embedder: Embedder) -> None:
        """Makes the embedder available."""
        self._embedder = embedder

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._embedder.name if self._embedder else self._name

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._embedder.dimension if self._embedder else self._dimension

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one vector per text.

        Raises:
            EmbedderUnavailableError: the embedder is not connected yet.
        """
        if self._embedder is None:
            raise EmbedderUnavailableError("the embedder is starting")
        return await self._embedder.embed(texts)
