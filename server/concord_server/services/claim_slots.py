"""Which slot a claim is about, found under its partition's lock; a new one is made where nothing was said yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import Cardinality, FactStatus, FactType
from concord_server.domain.model import Claim
from concord_server.domain.predicates import Ground, Meaning, Proposal, meaning
from concord_server.domain.values import slot_key, value_key
from concord_server.ports.clock import Ids
from concord_server.ports.ledger import LockedPartition, WriteSession

_BECAUSE = {
    Ground.ALIAS: "an alias",
    Ground.MEANING: "the judge finds that both mean the same",
}


@dataclass(frozen=True, slots=True)
class ClaimSlot:
    """The slot that a claim is about.

    Attributes:
        claim: with the predicate that it means, and the cardinality that is registered.
        value_key: of its value.
        meaning: the predicate, and why it is that one.
    """

    claim: Claim
    value_key: str
    slot_id: UUID
    is_new: bool
    meaning: Meaning
    warnings: tuple[str, ...] = ()


class ClaimSlots:
    """Finds slots within a session that holds the partition."""

    def __init__(self, session: WriteSession, locked: LockedPartition, ids: Ids) -> None:
        self._session = session
        self._locked = locked
        self._ids = ids

    async def find(
        self, given: ClaimInput, fact_type: FactType, start: datetime, proposal: Proposal | None = None
    ) -> ClaimSlot | None:
        """Returns the slot, ``None`` when the proposal was overtaken and must be made anew.

        Args:
            given: the claim as stated.
            fact_type: of the statement; every occurrence has a slot of its own.
            start: since when the claim holds.
            proposal: what was found by meaning before; ``None`` where nothing was looked for.
        """
        claim = given.normalised()
        stored = await self._session.slots.hold_cardinality(claim.predicate)
        if stored is not None:
            registered = replace(claim, cardinality=stored)
            slot_id = await self._known(registered, fact_type, start)
            if slot_id is not None:
                return self._slot(
                    given, registered, Meaning(claim.predicate, Ground.STATED), slot_id, is_new=False
                )
        meant = await self._meaning(claim, stored or given.cardinality, fact_type, proposal)
        if meant is None:
            return None
        stated_registered = stored if meant.predicate == claim.predicate else None
        claim = replace(claim, predicate=meant.predicate)
        cardinality = stated_registered or await self._session.slots.register_predicate(
            claim.predicate, claim.cardinality, self._locked.recorded_time
        )
        claim = replace(claim, cardinality=cardinality)
        known = None if stated_registered else await self._known(claim, fact_type, start)
        slot_id = known or await self._made(claim, fact_type, start)
        return self._slot(given, claim, meant, slot_id, is_new=known is None)

    async def _meaning(
        self, claim: Claim, cardinality: Cardinality | None, fact_type: FactType, proposal: Proposal | None
    ) -> Meaning | None:
        if fact_type is FactType.EVENT:
            proposal = None
        vocabulary = await self._session.predicates.vocabulary(
            self._locked.partition_id,
            claim.subject,
            claim.predicate,
            claim.qualifiers,
            comparable=proposal is not None,
        )
        return meaning(claim.predicate, cardinality, claim.value, vocabulary, proposal)

    async def _known(self, claim: Claim, fact_type: FactType, start: datetime) -> UUID | None:
        name = _name(claim, fact_type, start)
        slot_id = await self._session.slots.find(self._locked.partition_id, name)
        if slot_id is not None or fact_type is FactType.EVENT or claim.cardinality is not Cardinality.MULTI:
            return slot_id
        return await self._left_from_before(claim)

    async def _left_from_before(self, claim: Claim) -> UUID | None:
        """Returns the slot of a value that stands alone from when only one could: its conflict kept it from moving."""
        plain = slot_key(claim.subject, claim.predicate, claim.qualifiers)
        slot_id = await self._session.slots.find(self._locked.partition_id, plain)
        if slot_id is None:
            return None
        timeline = await self._session.slots.timeline(slot_id)
        key = value_key(claim.value)
        stands = any(f.value_key == key and f.status is FactStatus.ACTIVE for f in timeline.facts)
        return slot_id if stands and timeline.conflict_id is None else None

    async def _made(self, claim: Claim, fact_type: FactType, start: datetime) -> UUID:
        slot_id = self._ids.new()
        await self._session.slots.create(
            self._locked.partition_id,
            _name(claim, fact_type, start),
            slot_id,
            subject=claim.subject,
            predicate=claim.predicate,
            qualifiers=claim.qualifiers,
        )
        return slot_id

    def _slot(self, given: ClaimInput, claim: Claim, meant: Meaning, slot_id: UUID, *, is_new: bool) -> ClaimSlot:
        warnings: tuple[str, ...] = ()
        if meant.ground in _BECAUSE:
            stated = given.normalised().predicate
            warnings += (f"predicate {stated} is taken as {claim.predicate}: {_BECAUSE[meant.ground]}",)
        if given.cardinality is not None and given.cardinality is not claim.cardinality:
            ignored = "the cardinality of the call is ignored"
            warnings += (f"predicate {claim.predicate} is {claim.cardinality.value}; {ignored}",)
        return ClaimSlot(claim, value_key(claim.value), slot_id, is_new, meant, warnings)


def _name(claim: Claim, fact_type: FactType, start: datetime) -> str:
    """Returns the key of a claim's slot: several values, and occurrences, have one each."""
    discriminator = ""
    if fact_type is FactType.EVENT:
        discriminator = f"{value_key(claim.value)}@{start.isoformat()}"
    elif claim.cardinality is Cardinality.MULTI:
        discriminator = value_key(claim.value)
    return slot_key(claim.subject, claim.predicate, claim.qualifiers, discriminator=discriminator)
