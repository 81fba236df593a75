"""The port behind which texts become vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""A unit-length embedding of shape ``(dimension,)``."""


class EmbedderUnavailableError(Exception):
    """The embedder cannot answer now; facts are stored without a vector and queued."""


class EmbedderOverloadedError(Exception):
    """The embedder works, but has more to do than it can in reasonable time; the caller should try again later.

    No reason to store a fact without a vector: that would only add to the work.
    """


class Embedder(Protocol):
    """Turns texts into unit-length vectors."""

    @property
    def name(self) -> str:
        """Model name, stored with the database and checked at start."""

    @property
    def dimension(self) -> int:
        """Length of every vector."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns one unit-length vector per text, in order; concurrent calls share batches.

        Raises:
            EmbedderUnavailableError: no answer can be had now.
            EmbedderOverloadedError: too many texts are waiting.
            ValueError: a text holds a lone surrogate.
        """
