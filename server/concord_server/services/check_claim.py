"""Checking a statement against the ledger."""

from __future__ import annotations

from dataclasses import dataclass, replace

from concord_server.domain.choice import Hit
from concord_server.domain.claim_check import ClaimCheck, JudgedFact, check_judged, check_slot, rendered
from concord_server.domain.commands import ClaimInput, Violations, validate_claim
from concord_server.domain.enums import Cardinality, ClaimSupport
from concord_server.domain.model import Claim
from concord_server.domain.queries import EVERY_FACT, FactFilter
from concord_server.domain.search import SearchQuery, SearchResult
from concord_server.domain.text import text_key, text_problem
from concord_server.domain.values import slot_key, value_key
from concord_server.ports.clock import Clock
from concord_server.ports.embedder import Embedder
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.ports.ledger import Ledger
from concord_server.ports.project_settings import DefaultSettings, SettingsOfProjects
from concord_server.services.context import CallContext
from concord_server.services.embedding import embed_one
from concord_server.services.search import SearchFacts

MAX_CANDIDATES = 5
"""How many similar facts are judged."""

_SEARCHED = 20
"""How many are searched for, since words bring up some that are not similar."""


@dataclass(frozen=True, slots=True)
class ClaimQuestion:
    """A statement to check, in words, as a claim, or both.

    Attributes:
        where: the facts to check it against: domain, scope and owner.
    """

    text: str = ""
    claim: ClaimInput | None = None
    where: FactFilter = EVERY_FACT

    def validate(self, found: Violations) -> None:
        """Adds what is wrong with the statement."""
        if self.claim is not None:
            validate_claim("claim", self.claim, found)
        elif not self.text:
            found.add("text", "text or claim must be given")
        if self.text:
            found.add("text", text_problem(self.text))


class CheckClaim:
    """Says whether the ledger supports a statement: by its slot first, then by search and the judge."""

    def __init__(
        self,
        ledger: Ledger,
        embedder: Embedder,
        judge: Judge,
        fallback: Judge,
        clock: Clock,
        settings: SettingsOfProjects | None = None,
    ) -> None:
        """Builds the use case.

        Args:
            judge: the project's judge.
            fallback: the judge to ask when that one is unavailable.
            settings: of projects; the defaults where they are not given.
        """
        self._ledger = ledger
        self._embedder = embedder
        self._judge = judge
        self._fallback = fallback
        self._clock = clock
        self._settings = settings or DefaultSettings()
        self._search = SearchFacts(ledger, embedder, clock, self._settings)

    async def execute(self, context: CallContext, question: ClaimQuestion) -> ClaimCheck:
        """Returns what the ledger says. Nothing is written, and no session is open while the judge thinks.

        Raises:
            InvalidFieldsError: there is neither text nor claim, or one of them is malformed.
        """
        found = Violations()
        question.validate(found)
        found.raise_if_any()
        text = question.text
        if question.claim is not None:
            by_slot = await self._by_slot(context, question.claim, question.where)
            if by_slot is not None:
                return by_slot
            text = text or rendered(question.claim.normalised())
        return await self._by_search(context, text, question.where)

    async def _by_slot(self, context: CallContext, given: ClaimInput, where: FactFilter) -> ClaimCheck | None:
        claim = given.normalised()
        settings = await self._settings.of(context.project)
        async with self._ledger.read(context.project) as session:
            names = await session.predicates.family(claim.predicate)
            cardinality = await session.slots.cardinality(names[0])
            keys = [key for name in names for key in _slot_keys(replace(claim, predicate=name))]
            facts = await session.search.of_slots(keys, where)
        own = [fact for fact in facts if fact.claim is not None and fact.claim.predicate == claim.predicate]
        stored = replace(claim, cardinality=cardinality or Cardinality.SINGLE)
        return check_slot(stored, own or facts, self._clock.now(), settings.horizons)

    async def _by_search(self, context: CallContext, text: str, where: FactFilter) -> ClaimCheck:
        thresholds = (await self._settings.of(context.project)).thresholds
        query = SearchQuery(text, where, top_k=_SEARCHED, include_conflicted=True)
        vector = await embed_one(self._embedder, text)
        found = await self._search.find(context, query, vector)
        if vector is None:
            return _by_wording(text, found)
        similar = [result for result in found if result.similarity >= thresholds.conflict]
        similar.sort(key=lambda result: (-result.similarity, result.fact.fact_id))
        return check_judged(await self._judged(context.project, text, similar[:MAX_CANDIDATES]), thresholds)

    async def _judged(self, project: str, text: str, similar: list[SearchResult]) -> list[JudgedFact]:
        pairs = [
            JudgePair(text, result.fact.text, result.similarity, result.fact.partition.owner_id, project)
            for result in similar
        ]
        if not pairs:
            return []
        try:
            judgements = await self._judge.judge(pairs)
        except JudgeUnavailableError:
            judgements = await self._fallback.judge(pairs)
        return [
            JudgedFact(result.fact, Hit(result.similarity, judgement))
            for result, judgement in zip(similar, judgements, strict=True)
        ]


def _slot_keys(claim: Claim) -> tuple[str, str]:
    """Returns the keys of the slots that a claim may be in: one value at a time, or several."""
    of_value = slot_key(claim.subject, claim.predicate, claim.qualifiers, discriminator=value_key(claim.value))
    return slot_key(claim.subject, claim.predicate, claim.qualifiers), of_value


def _by_wording(text: str, found: list[SearchResult]) -> ClaimCheck:
    """Returns what can be said without the embedder: that the same words are known, or nothing certain."""
    same = tuple(result.fact for result in found if text_key(result.fact.text) == text_key(text))
    if same and all(fact.conflict_id is None for fact in same):
        return ClaimCheck(ClaimSupport.SUPPORTED, same, (), "the same wording is known")
    rationale = "the embedder is unavailable: only equal wording could be looked for"
    return ClaimCheck(ClaimSupport.NEEDS_REVIEW, same, (), rationale)
