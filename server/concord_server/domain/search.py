"""Search: two rankings, by meaning and by words, fused into one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from concord_server.domain.commands import Violations
from concord_server.domain.model import Fact
from concord_server.domain.queries import EVERY_FACT, FactFilter
from concord_server.domain.text import text_problem

FUSION_CONSTANT = 60
"""The k of reciprocal rank fusion: how little the first few ranks differ."""

DEFAULT_TOP_K = 10
MAX_TOP_K = 100

RANKED_DEPTH = 50
"""Ranks beyond this count for nothing, unless more than half as many results are asked for."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What to search for.

    Attributes:
        text: the query in words, with at least one letter or digit.
        where: which facts; without ``as_of`` and statuses, current facts alone.
        top_k: how many to return, 1 to 100.
        min_similarity: leaves out what is less similar and matches no word; in [0, 1].
        include_superseded: finds superseded facts too.
        include_conflicted: finds members of open conflicts too.
    """

    text: str
    where: FactFilter = EVERY_FACT
    top_k: int = DEFAULT_TOP_K
    min_similarity: float = 0.0
    include_superseded: bool = False
    include_conflicted: bool = False

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with the query and its bounds."""
        found.add("query", text_problem(self.text))
        found.unit_interval("min_similarity", self.min_similarity)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A fact or an event that was found by one way or both.

    Attributes:
        item_id: its id.
        similarity: cosine with the query, in [-1, 1]; ``None`` where either has no vector.
        text_rank: how well its words match, 0 when none does.
    """

    item_id: UUID
    similarity: float | None
    text_rank: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """A hit with its place in the fused order; higher scores come first."""

    hit: SearchHit
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A fact that was found, with what the order goes by.

    Attributes:
        similarity: cosine with the query, in [-1, 1]; 0 where there is none.
        text_rank: how well its words match, 0 when none does.
        score: the fusion of both rankings.
    """

    fact: Fact
    similarity: float
    text_rank: float
    score: float


def ranked_depth(top_k: int) -> int:
    """Returns how many ranks of each ranking count."""
    return max(RANKED_DEPTH, 2 * top_k)


def fuse(hits: Iterable[SearchHit], top_k: int, *, min_similarity: float = 0.0) -> list[ScoredHit]:
    """Returns the best hits by reciprocal rank fusion: the sum of 1/(60 + rank) over both rankings.

    The order is total: by score, then similarity, then id. Both rankings end at :func:`ranked_depth`.

    Args:
        hits: of both ways, an item may occur in each.
        top_k: how many to return.
        min_similarity: leaves out what is less similar and matches no word; 0 leaves out nothing.
    """
    found = _by_item(hits)
    if min_similarity > 0:
        found = {i: h for i, h in found.items() if h.text_rank > 0 or _similarity(h) >= min_similarity}
    depth = ranked_depth(top_k)
    alike = sorted((h for h in found.values() if h.similarity is not None), key=_by_similarity)[:depth]
    worded = sorted((h for h in found.values() if h.text_rank > 0), key=_by_words)[:depth]
    scores: dict[UUID, float] = {}
    for ranking in (alike, worded):
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.item_id] = scores.get(hit.item_id, 0.0) + 1.0 / (FUSION_CONSTANT + rank)
    scored = [ScoredHit(found[item_id], score) for item_id, score in scores.items()]
    scored.sort(key=lambda s: (-s.score, *_by_similarity(s.hit)))
    return scored[:top_k]


def _by_item(hits: Iterable[SearchHit]) -> Mapping[UUID, SearchHit]:
    """Returns one hit per item, with what either way knows of it."""
    found: dict[UUID, SearchHit] = {}
    for hit in hits:
        known = found.get(hit.item_id)
        if known is not None:
            similarity = hit.similarity if known.similarity is None else known.similarity
            hit = SearchHit(hit.item_id, similarity, max(hit.text_rank, known.text_rank))  # noqa: PLW2901
        found[hit.item_id] = hit
    return found


def _similarity(hit: SearchHit) -> float:
    return -1.0 if hit.similarity is None else hit.similarity


def _by_similarity(hit: SearchHit) -> tuple[float, UUID]:
    return (-_similarity(hit), hit.item_id)


def _by_words(hit: SearchHit) -> tuple[float, float, UUID]:
    return (-hit.text_rank, *_by_similarity(hit))
