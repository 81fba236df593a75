"""Removing every word of a fact, wherever it is kept; ids and times remain."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import BindParameter, Executable, Uuid, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import BYTEA, array

from concord_server.domain.enums import FactChange, FactStatus
from concord_server.domain.timeline import AssertionKind
from concord_server.storage.carried_values import erase_carried_values
from concord_server.storage.event_tables import event_candidates
from concord_server.storage.fact_rows import fact_columns
from concord_server.storage.fact_tables import (
    evidence,
    fact_search,
    fact_tags,
    fact_versions,
    fact_wordings,
    facts,
    sources,
)
from concord_server.storage.statements import PROJECT, SessionContext
from concord_server.storage.tables import (
    conflict_members,
    conflicts,
    decision_candidates,
    decisions,
    request_ids,
    slot_assertions,
    slots,
)

_FACT: BindParameter[UUID] = bindparam("fact", type_=Uuid)

_BLANK_STATE: dict[str, Any] = {
    "text": "",
    "text_raw": "",
    "value_key": "",
    "claim_subject": None,
    "predicate": None,
    "claim_value": None,
    "qualifiers": None,
    "cardinality": None,
    "metadata": {},
}


async def erase_fact(context: SessionContext, fact_id: UUID) -> None:
    """Erases as :meth:`~concord_server.ports.ledger.FactRepository.erase` says."""
    parameters = {"project": context.project, "fact": fact_id}
    for carrier in await erase_carried_values(context, fact_id):
        await context.statements.execute(_ANSWERS, {"project": context.project, "fact": carrier})
    for statement in _STATEMENTS:
        await context.statements.execute(statement, parameters)


def _statements() -> list[Executable]:
    return [
        *_of_fact(),
        _of_neighbours(),
        *_of_provenance(),
        *_of_slot(),
        *_of_decisions(),
        *_of_conflicts(),
        _of_events(),
        _ANSWERS,
    ]


def _of_fact() -> list[Executable]:
    return [
        update(facts)
        .where(facts.c.project_id == PROJECT, facts.c.fact_id == _FACT)
        .values(_BLANK_STATE | {"text_digest": b""}),
        update(fact_versions)
        .where(fact_versions.c.project_id == PROJECT, fact_versions.c.fact_id == _FACT)
        .values(_BLANK_STATE | {"tags": []}),
        # Why it was erased is all that may still be said about it.
        update(fact_versions)
        .where(
            fact_versions.c.project_id == PROJECT,
            fact_versions.c.fact_id == _FACT,
            fact_versions.c.change != FactChange.ERASED.value,
        )
        .values(reason=""),
        delete(fact_search).where(fact_search.c.project_id == PROJECT, fact_search.c.fact_id == _FACT),
        delete(fact_wordings).where(fact_wordings.c.project_id == PROJECT, fact_wordings.c.fact_id == _FACT),
        delete(fact_tags).where(fact_tags.c.project_id == PROJECT, fact_tags.c.fact_id == _FACT),
    ]


def _of_neighbours() -> Executable:
    """Why a fact changed is noted with every fact that changed in the same transaction.

    Within a partition, what was recorded at the same time was recorded by one transaction.
    """
    own = fact_versions.alias("own")
    together = (
        select(own.c.fact_id)
        .where(
            own.c.project_id == PROJECT,
            own.c.fact_id == _FACT,
            own.c.change != FactChange.ERASED.value,
            own.c.partition_id == fact_versions.c.partition_id,
            own.c.recorded_from == fact_versions.c.recorded_from,
        )
        .correlate(fact_versions)
        .exists()
    )
    moments = select(own.c.recorded_from).where(own.c.project_id == PROJECT, own.c.fact_id == _FACT)
    return (
        update(fact_versions)
        .where(
            fact_versions.c.project_id == PROJECT,
            fact_versions.c.recorded_from.in_(moments),
            fact_versions.c.change != FactChange.ERASED.value,
            together,
        )
        .values(reason="")
    )


def _of_provenance() -> list[Executable]:
    # A digest of what was erased would still tell whether a guess at it is right; ids keep the rows apart.
    return [
        update(sources)
        .where(sources.c.project_id == PROJECT, sources.c.fact_id == _FACT)
        .values(
            identity_digest=func.uuid_send(sources.c.source_id, type_=BYTEA),
            source_type="",
            url="",
            title="",
            external_id="",
            metadata={},
        ),
        update(evidence)
        .where(evidence.c.project_id == PROJECT, evidence.c.fact_id == _FACT)
        .values(
            content_digest=func.uuid_send(evidence.c.evidence_id, type_=BYTEA),
            quote="",
            locator="",
            source_kind="",
            source_ref="",
            extraction_method="",
        ),
    ]


def _of_slot() -> list[Executable]:
    slot_id = (
        select(facts.c.slot_id).where(facts.c.project_id == PROJECT, facts.c.fact_id == _FACT).scalar_subquery()
    )
    others = select(facts.c.fact_id).where(
        facts.c.project_id == PROJECT,
        facts.c.slot_id == slots.c.slot_id,
        facts.c.fact_id != _FACT,
        facts.c.status != FactStatus.DELETED.value,
    )
    return [
        update(slot_assertions)
        .where(slot_assertions.c.project_id == PROJECT, slot_assertions.c.fact_id == _FACT)
        .values(value=None, value_key=""),
        # A slot that no other fact speaks of is forgotten: subject and qualifiers are words of the claim.
        delete(slots).where(
            slots.c.project_id == PROJECT, slots.c.slot_id == slot_id, ~others.correlate(slots).exists()
        ),
    ]


def _of_decisions() -> list[Executable]:
    candidates = select(decision_candidates.c.decision_id).where(
        decision_candidates.c.project_id == PROJECT, decision_candidates.c.fact_id == _FACT
    )
    about = select(decisions.c.decision_id).where(decisions.c.project_id == PROJECT, decisions.c.fact_id == _FACT)
    return [
        update(decisions)
        .where(
            decisions.c.project_id == PROJECT,
            or_(decisions.c.fact_id == _FACT, decisions.c.decision_id.in_(candidates)),
        )
        .values(rationale=""),
        update(decision_candidates)
        .where(
            decision_candidates.c.project_id == PROJECT,
            or_(decision_candidates.c.fact_id == _FACT, decision_candidates.c.decision_id.in_(about)),
        )
        .values(rationale=""),
    ]


def _of_conflicts() -> list[Executable]:
    joined = select(conflict_members.c.conflict_id).where(
        conflict_members.c.project_id == PROJECT, conflict_members.c.fact_id == _FACT
    )
    return [
        update(conflicts)
        .where(conflicts.c.project_id == PROJECT, conflicts.c.conflict_id.in_(joined))
        .values(reason="", resolution_note="")
    ]


def _of_events() -> Executable:
    """Blanks what a model took from the same events and no fact carries: it may say the same in other words."""
    same = event_candidates.alias("same")
    of_fact = select(same.c.event_id).where(same.c.project_id == PROJECT, same.c.fact_id == _FACT)
    return (
        update(event_candidates)
        .where(event_candidates.c.project_id == PROJECT, event_candidates.c.event_id.in_(of_fact))
        .values(text="")
    )


def _answers() -> Executable:
    carried = request_ids.c.fact_ids.contains(array([_FACT]))
    return (
        update(request_ids).where(request_ids.c.project_id == PROJECT, carried).values(response=b"", erased=True)
    )


def _absorbed() -> Executable:
    """Returns the facts that no statement is about any more, and whose wording the fact is known under."""
    this = facts.alias("this")
    known_as = select(fact_wordings.c.text_digest).where(
        fact_wordings.c.project_id == PROJECT, fact_wordings.c.fact_id == _FACT
    )
    said = (
        select(slot_assertions.c.assertion_id)
        .where(
            slot_assertions.c.project_id == facts.c.project_id,
            slot_assertions.c.fact_id == facts.c.fact_id,
            slot_assertions.c.kind != AssertionKind.AMEND.value,
        )
        .correlate(facts)
        .exists()
    )
    return (
        select(*fact_columns())
        .join_from(facts, this, (this.c.project_id == facts.c.project_id) & (this.c.slot_id == facts.c.slot_id))
        .where(
            this.c.project_id == PROJECT,
            this.c.fact_id == _FACT,
            facts.c.fact_id != _FACT,
            facts.c.status != FactStatus.DELETED.value,
            or_(facts.c.text_digest == this.c.text_digest, facts.c.text_digest.in_(known_as)),
            ~said,
        )
        .order_by(facts.c.create_time, facts.c.fact_id)
    )


_ANSWERS = _answers()
_STATEMENTS = _statements()
ABSORBED = _absorbed()
"""The facts whose statements all went over to one, by ``project`` and ``fact``."""
