"""Which known fact a statement without a claim meets: exact wording first, then search and judge.

Nothing here holds a transaction: what is read may change before the plan is applied, which the probe of the
match lets the writer find out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from concord_server.domain.choice import Choice, ChoiceKind, Hit, choose
from concord_server.domain.enums import (
    LIVE_STATUSES,
    SUPPRESSING_STATUSES,
    DecisionBasis,
    FactStatus,
)
from concord_server.domain.judgement import Judgement
from concord_server.domain.model import Candidate, Fact, Partition, Thresholds
from concord_server.ports.embedder import Embedder, Vector
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.ports.ledger import ChangeProbe, Ledger, ReadSession, SimilarFact
from concord_server.services.embedding import NOT_EMBEDDED, embed_one

MAX_CANDIDATES = 5
"""How many similar facts are judged."""

ROUNDING = 1e-6
"""How far two computations of one cosine may be apart."""

SEARCH_LIMIT = 20
"""How many are fetched, since several superseded ones may stand for one fact."""


@dataclass(frozen=True, slots=True)
class Match:
    """What a statement meets, as of ``revision`` of its partition.

    Attributes:
        target: the chosen fact; ``None`` when the statement is to be created.
        similarity: cosine with the target, 1 for an equal wording.
        probe: what the match depends on.
        vector: embedding of the statement; ``None`` when it was not needed or could not be had.
    """

    basis: DecisionBasis
    choice: Choice
    revision: int
    probe: ChangeProbe
    target: Fact | None = None
    similarity: float | None = None
    vector: Vector | None = None
    candidates: tuple[Candidate, ...] = ()
    judge: str = ""
    rationale: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Recollection:
    """What was found out about a statement and no writer changes, for when it has to be matched again.

    Attributes:
        vector: the statement's embedding.
        judgements: by the wording of the known fact.
        unavailable: whether the project's judge was, so that the fallback was asked.
    """

    vector: Vector | None = None
    judgements: dict[str, Judgement] = field(default_factory=dict)
    unavailable: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    fact: Fact
    similarity: float
    judgement: Judgement


def exact_match(facts: Sequence[Fact], moment: datetime) -> Fact | None:
    """Returns the fact that an equal wording meets, of all facts with that wording.

    A live fact (the active one first) or a superseded one that held at ``moment``; else one that keeps the
    statement from coming back (retracted or archived); ``None`` when there is neither.
    """

    def rank(fact: Fact) -> int:
        if fact.status is FactStatus.ACTIVE:
            return 0
        if fact.status in LIVE_STATUSES:
            return 1
        if fact.status is FactStatus.SUPERSEDED and fact.holds_at(moment):
            return 2
        return 3 if fact.status in SUPPRESSING_STATUSES else 4

    ranked = sorted((f for f in facts if rank(f) < 4), key=rank)
    return ranked[0] if ranked else None


class Matcher:
    """Finds what statements without a claim meet."""

    def __init__(self, ledger: Ledger, embedder: Embedder, judge: Judge, fallback: Judge) -> None:
        """Builds a matcher.

        Args:
            judge: the project's judge.
            fallback: the judge to ask when that one is unavailable.
        """
        self._ledger = ledger
        self._embedder = embedder
        self._judge = judge
        self._fallback = fallback

    async def match(
        self,
        project: str,
        partition: Partition,
        text: str,
        digest: bytes,
        moment: datetime,
        thresholds: Thresholds,
        recollection: Recollection | None = None,
    ) -> Match:
        """Returns what the statement meets.

        Args:
            digest: of the text's key.
            moment: the statement's time.
            recollection: of the same text in the same partition; what is found out is added to it.
        """
        known = recollection or Recollection()
        async with self._ledger.read(project) as session:
            state = await session.partitions.find(partition)
            if state is not None:
                exact = exact_match(await session.facts.by_text(state.partition_id, digest), moment)
                if exact is not None:
                    return _exact(exact, state.revision, digest)
        revision = state.revision if state else 0
        if known.vector is None:
            known.vector = await embed_one(self._embedder, text)
            if known.vector is None:
                return _unembedded(revision, digest)
        return await self.match_by_meaning(
            project, partition, text, digest, moment, thresholds, known.vector, known
        )

    async def match_by_meaning(
        self,
        project: str,
        partition: Partition,
        text: str,
        digest: bytes,
        moment: datetime,
        thresholds: Thresholds,
        vector: Vector,
        recollection: Recollection | None = None,
    ) -> Match:
        """Returns what the statement meets among the facts that are near it; arguments as of :meth:`match`."""
        known = recollection or Recollection()
        revision = 0
        hits: list[SimilarFact] = []
        probe = ChangeProbe(digest, vector, thresholds.conflict, frozenset())
        async with self._ledger.read(project) as session:
            state = await session.partitions.find(partition)
            if state is not None:
                revision = state.revision
                found = await session.facts.similar(
                    state.partition_id, vector, min_similarity=thresholds.conflict, limit=SEARCH_LIMIT
                )
                hits, used = await _standing_in(session, found, vector, moment)
                nearest = found[used - 1].similarity if len(hits) == MAX_CANDIDATES else thresholds.conflict
                # Rounding of the database's cosine must not hide what is as near as the last hit.
                probe = ChangeProbe(
                    digest,
                    vector,
                    max(thresholds.conflict, nearest - ROUNDING),
                    frozenset(hit.fact.slot_id for hit in found[:used]),
                )
        if not hits:
            return Match(
                DecisionBasis.NO_CANDIDATE,
                Choice(ChoiceKind.CREATE),
                revision,
                probe,
                vector=vector,
                rationale="no known fact is similar enough",
            )
        judged, judge = await self._judged(project, partition, text, hits, known)
        return _decided(judged, thresholds, revision, probe, vector, judge, unavailable=known.unavailable)

    async def _judged(
        self, project: str, partition: Partition, text: str, hits: Sequence[SimilarFact], known: Recollection
    ) -> tuple[list[_Judged], str]:
        """Judges the hits whose wordings are not recollected, and returns all with the name of the judge."""
        pairs = [
            JudgePair(text, hit.fact.text, hit.similarity, owner=partition.owner_id, project=project)
            for hit in hits
            if hit.fact.text not in known.judgements
        ]
        if pairs:
            try:
                judgements = await self._judge.judge(pairs)
            except JudgeUnavailableError:
                known.unavailable = True
                judgements = await self._fallback.judge(pairs)
            known.judgements |= {pair.known: each for pair, each in zip(pairs, judgements, strict=True)}
        judged = [_Judged(hit.fact, hit.similarity, known.judgements[hit.fact.text]) for hit in hits]
        names = dict.fromkeys(each.judgement.judge for each in judged if each.judgement.judge)
        return judged, ", ".join(names) or self._judge.name


async def _standing_in(
    session: ReadSession, found: Sequence[SimilarFact], vector: Vector, moment: datetime
) -> tuple[list[SimilarFact], int]:
    """Puts, for each superseded hit, the fact of its line that holds at the statement's time.

    Order and membership come from the hits as found; similarity is that of the fact that stands in.

    Returns:
        The candidates, at most :data:`MAX_CANDIDATES`, and how many of the hits they were taken from.
    """
    superseded = [hit.fact for hit in found if hit.fact.status is FactStatus.SUPERSEDED]
    holders = await session.facts.holding(list({fact.slot_id for fact in superseded}), moment)
    stand_ins = {fact.fact_id: holders[fact.slot_id] for fact in superseded if fact.slot_id in holders}
    known = {hit.fact.fact_id: hit.similarity for hit in found}
    missing = [fact.fact_id for fact in stand_ins.values() if fact.fact_id not in known]
    if missing:
        known |= await session.facts.similarities(missing, vector)
    result: dict[UUID, SimilarFact] = {}
    for used, hit in enumerate(found, start=1):
        fact = stand_ins.get(hit.fact.fact_id, hit.fact)
        similarity = known.get(fact.fact_id, hit.similarity)
        result.setdefault(fact.fact_id, SimilarFact(fact, similarity))
        if len(result) == MAX_CANDIDATES:
            return list(result.values()), used
    return list(result.values()), len(found)


def _exact(fact: Fact, revision: int, digest: bytes) -> Match:
    return Match(
        DecisionBasis.EXACT_TEXT,
        Choice(ChoiceKind.MERGE, 0, by_similarity=True),
        revision,
        ChangeProbe(digest, None, 1.0, frozenset({fact.slot_id})),
        target=fact,
        similarity=1.0,
        rationale="the same wording",
    )


def _unembedded(revision: int, digest: bytes) -> Match:
    return Match(
        DecisionBasis.EMBEDDER_UNAVAILABLE,
        Choice(ChoiceKind.CREATE),
        revision,
        ChangeProbe(digest, None, 1.0, frozenset()),
        rationale="the embedder is unavailable",
        warnings=(NOT_EMBEDDED,),
    )


def _decided(
    judged: Sequence[_Judged],
    thresholds: Thresholds,
    revision: int,
    probe: ChangeProbe,
    vector: Vector,
    judge: str,
    *,
    unavailable: bool,
) -> Match:
    """Chooses among the judged hits: live ones first; suppressed ones only keep a restatement away."""
    live = [j for j in judged if j.fact.status not in SUPPRESSING_STATUSES]
    choice = choose([Hit(j.similarity, j.judgement) for j in live], thresholds)
    chosen = live[choice.index] if choice.index is not None else None
    if choice.kind is not ChoiceKind.MERGE:
        hidden = [j for j in judged if j.fact.status in SUPPRESSING_STATUSES]
        against = choose([Hit(j.similarity, j.judgement) for j in hidden], thresholds)
        if against.kind is ChoiceKind.MERGE and against.index is not None:
            choice, chosen = against, hidden[against.index]
    basis = DecisionBasis.JUDGED
    if unavailable:
        basis = DecisionBasis.JUDGE_UNAVAILABLE
    elif choice.kind is ChoiceKind.MERGE and choice.by_similarity:
        basis = DecisionBasis.ABOVE_THRESHOLD
    return Match(
        basis,
        choice,
        revision,
        probe,
        target=chosen.fact if chosen else None,
        similarity=chosen.similarity if chosen else None,
        vector=vector,
        candidates=tuple(_candidate(j, chosen=j is chosen) for j in judged),
        judge=judge,
        rationale=_rationale(choice, chosen),
    )


def _candidate(judged: _Judged, *, chosen: bool) -> Candidate:
    hit = Hit(judged.similarity, judged.judgement)
    return Candidate(
        fact_id=judged.fact.fact_id,
        similarity=judged.similarity,
        relation=hit.relation,
        probabilities=judged.judgement.probabilities,
        discrepancies=judged.judgement.discrepancies,
        rationale=judged.judgement.rationale,
        chosen=chosen,
    )


def _rationale(choice: Choice, chosen: _Judged | None) -> str:
    if chosen is None:
        return "nothing similar is about the same matter"
    named = chosen.judgement.rationale
    return f"{choice.kind.value}: {named}" if named else choice.kind.value
