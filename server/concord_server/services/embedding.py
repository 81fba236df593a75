"""Embedding within a use case: what is down is worked around, what is overloaded is said."""

from __future__ import annotations

from collections.abc import Sequence

from concord_server.domain.errors import OverloadedError
from concord_server.ports.embedder import (
    Embedder,
    EmbedderOverloadedError,
    EmbedderUnavailableError,
    Vector,
)

NOT_EMBEDDED = "the embedder is unavailable: the fact will be compared with others once it is back"
"""Warning of a fact that was stored without its vector."""


async def embed_all(embedder: Embedder, texts: Sequence[str]) -> list[Vector] | None:
    """Returns one vector per text, or ``None`` when the embedder is unavailable.

    Raises:
        OverloadedError: too many texts wait already; storing more without a vector would only add to them.
    """
    try:
        return await embedder.embed(texts)
    except EmbedderOverloadedError as error:
        raise OverloadedError("too many texts wait to be embedded; send fewer at once") from error
    except EmbedderUnavailableError:
        return None


async def embed_one(embedder: Embedder, text: str) -> Vector | None:
    """Returns the vector of a text, or ``None`` when the embedder is unavailable.

    Raises:
        OverloadedError: too many texts wait already.
    """
    vectors = await embed_all(embedder, [text])
    return vectors[0] if vectors else None
