"""The port behind which statements are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from concord_server.domain.judgement import Judgement


@dataclass(frozen=True, slots=True)
class JudgePair:
    """One question to a judge.

    Attributes:
        statement: the new wording.
        known: the wording of the known fact.
        similarity: cosine of the two embeddings, in [-1, 1].
        owner: name of the entity both belong to, empty when they have none.
        project: on whose account and by whose settings it is judged; the same for all that are judged at once.
    """

    statement: str
    known: str
    similarity: float
    owner: str = ""
    project: str = ""


class JudgeUnavailableError(Exception):
    """The judge cannot answer now; the caller falls back to another."""


class Judge(Protocol):
    """Says how statements relate to known facts."""

    @property
    def name(self) -> str:
        """Name and version, as stored with decisions."""

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        """Returns one judgement per pair, in order.

        Raises:
            JudgeUnavailableError: no answer can be had now.
        """
