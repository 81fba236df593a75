"""What an answer about a batch of facts does to observations: validated, and planned.

The answer comes from a model, or from embedder and judge; neither is trusted. Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from concord_server.domain.enums import ObservationAction
from concord_server.domain.model import Fact
from concord_server.domain.observations import Observation
from concord_server.domain.text import text_key, text_problem

BATCH_SIZE = 8
"""Facts that are considered together."""

MAX_REASON = 1_000
"""Characters of a reason that are kept."""


class Refused(StrEnum):
    """Why a part of an answer was not followed."""

    UNKNOWN_OBSERVATION = "unknown_observation"
    NO_EVIDENCE = "no_evidence"
    INVALID_TEXT = "invalid_text"
    TOO_FEW = "too_few"
    OLDER_NEWS = "older_news"
    UPDATED_ANYWAY = "updated_anyway"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Create:
    """A new observation that an answer asks for."""

    text: str
    fact_ids: tuple[UUID, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """A new wording, or more support."""

    observation_id: UUID
    text: str
    fact_ids: tuple[UUID, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """Several observations that say one thing."""

    observation_ids: tuple[UUID, ...]
    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retire:
    """An observation that is no longer believed."""

    observation_id: UUID
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is asked for, as given. Ids that cannot be read are absent."""

    creates: tuple[Create, ...] = ()
    updates: tuple[Update, ...] = ()
    merges: tuple[Merge, ...] = ()
    retires: tuple[Retire, ...] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """What an answer was given about; nothing else may be named in it.

    Attributes:
        batch: the facts to consider, oldest first.
        earlier: facts considered before: near ones, and those that the observations rest on.
        observations: of the same group, ACTIVE.
    """

    batch: tuple[Fact, ...]
    earlier: tuple[Fact, ...] = ()
    observations: tuple[Observation, ...] = ()

    @property
    def facts(self) -> Mapping[UUID, Fact]:
        """Every fact that was shown, by id."""
        return {fact.fact_id: fact for fact in (*self.earlier, *self.batch)}

    @property
    def by_id(self) -> Mapping[UUID, Observation]:
        """Every observation that was shown, by id."""
        return {each.observation_id: each for each in self.observations}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one observation.

    Attributes:
        observation_id: ``None`` for a new one.
        fact_ids: facts that it rests on from now on, beside those that it rests on already.
        absorbed: observations that become this one.
        is_late: all that it newly cites is older than all that the observation rests on; its wording stands only
            if it does not contradict the present one.
    """

    action: ObservationAction
    observation_id: UUID | None
    text: str
    fact_ids: tuple[UUID, ...] = ()
    absorbed: tuple[UUID, ...] = ()
    reason: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A part of an answer that was not followed, and the observation that it was about, if one is known."""

    observation_id: UUID | None
    why: Refused


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done; no observation is in two changes."""

    changes: tuple[Change, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def batches(fact_ids: Sequence[UUID]) -> list[Sequence[UUID]]:
    """Returns the facts of a group in batches that are full, but for the last."""
    return [fact_ids[start : start + BATCH_SIZE] for start in range(0, len(fact_ids), BATCH_SIZE)]


def halves(facts: Sequence[Fact]) -> tuple[Sequence[Fact], Sequence[Fact]]:
    """Returns the two halves of a batch of at least two, in their order."""
    middle = (len(facts) + 1) // 2
    return facts[:middle], facts[middle:]


@dataclass(slots=True)
class _Drafts:
    """Changes by observation while an answer is read."""

    pool: Pool
    changes: dict[UUID, Change] = field(default_factory=dict)
    created: list[Change] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, observation_id: UUID | None, why: Refused) -> None:
        """Notes what is not followed."""
        known = observation_id if observation_id in self.pool.by_id else None
        self.refusals.append(Refusal(known, why))

    def shown(self, fact_ids: Iterable[UUID]) -> tuple[UUID, ...]:
        """Returns those of the facts that were shown, each once."""
        return tuple(dict.fromkeys(fact_id for fact_id in fact_ids if fact_id in self.pool.facts))


def plan(pool: Pool, answer: Answer) -> Plan:
    """Returns what an answer does, with everything in it that is not followed.

    Ids that were not shown are dropped, and what then rests on nothing is refused. Updates and merges win over
    retirements of the same observation. What is late neither rewrites nor retires (see :class:`Change`).
    """
    drafts = _Drafts(pool)
    for update in answer.updates:
        _update(drafts, update)
    for merge in answer.merges:
        _merge(drafts, merge)
    for create in answer.creates:
        _create(drafts, create)
    for retire in answer.retires:
        _retire(drafts, retire)
    return Plan((*drafts.changes.values(), *drafts.created), tuple(drafts.refusals))


def _create(drafts: _Drafts, create: Create) -> None:
    fact_ids = drafts.shown(create.fact_ids)
    if text_problem(create.text):
        drafts.refuse(None, Refused.INVALID_TEXT)
    elif not fact_ids:
        drafts.refuse(None, Refused.NO_EVIDENCE)
    else:
        text = create.text.strip()
        drafts.created.append(
            Change(ObservationAction.CREATED, None, text, fact_ids, reason=_reason(create.reason))
        )


def _update(drafts: _Drafts, update: Update) -> None:
    known = drafts.pool.by_id.get(update.observation_id)
    fact_ids = drafts.shown(update.fact_ids)
    if known is None:
        drafts.refuse(None, Refused.UNKNOWN_OBSERVATION)
        return
    if text_problem(update.text):
        drafts.refuse(known.observation_id, Refused.INVALID_TEXT)
        return
    if not fact_ids:
        drafts.refuse(known.observation_id, Refused.NO_EVIDENCE)
        return
    before = drafts.changes.get(known.observation_id)
    fact_ids = tuple(dict.fromkeys((*(before.fact_ids if before else ()), *fact_ids)))
    text = update.text.strip()
    if text == known.text and not _new(known, fact_ids):
        drafts.refuse(known.observation_id, Refused.UNCHANGED)
        return
    drafts.changes[known.observation_id] = Change(
        ObservationAction.UPDATED,
        known.observation_id,
        text,
        fact_ids,
        reason=_reason(update.reason),
        is_late=text_key(text) != text_key(known.text) and _is_late(drafts.pool, known, fact_ids),
    )


def _merge(drafts: _Drafts, merge: Merge) -> None:
    taken = {each for change in drafts.changes.values() for each in change.absorbed}
    taken |= {key for key, change in drafts.changes.items() if change.action is ObservationAction.MERGED}
    pool = drafts.pool.by_id
    members = [pool[each] for each in dict.fromkeys(merge.observation_ids) if each in pool and each not in taken]
    if len(members) < 2:
        drafts.refuse(members[0].observation_id if members else None, Refused.TOO_FEW)
        return
    if text_problem(merge.text):
        drafts.refuse(members[0].observation_id, Refused.INVALID_TEXT)
        return
    kept = best_supported(members)
    absorbed = tuple(each.observation_id for each in members if each is not kept)
    updates = [drafts.changes.pop(each.observation_id, None) for each in members]
    fact_ids = [fact_id for change in updates if change for fact_id in change.fact_ids]
    drafts.changes[kept.observation_id] = Change(
        ObservationAction.MERGED,
        kept.observation_id,
        merge.text.strip(),
        tuple(dict.fromkeys(fact_ids)),
        absorbed,
        _reason(merge.reason),
    )


def _retire(drafts: _Drafts, retire: Retire) -> None:
    known = drafts.pool.by_id.get(retire.observation_id)
    if known is None:
        drafts.refuse(None, Refused.UNKNOWN_OBSERVATION)
        return
    named = {each for change in drafts.changes.values() for each in change.absorbed} | set(drafts.changes)
    if known.observation_id in named:
        drafts.refuse(known.observation_id, Refused.UPDATED_ANYWAY)
    elif known.text and _is_late(drafts.pool, known, [fact.fact_id for fact in drafts.pool.batch]):
        drafts.refuse(known.observation_id, Refused.OLDER_NEWS)
    else:
        change = Change(ObservationAction.RETIRED, known.observation_id, known.text, reason=_reason(retire.reason))
        drafts.changes[known.observation_id] = change


def best_supported(observations: Sequence[Observation]) -> Observation:
    """Returns the one that rests on the most facts; the oldest of those."""
    return min(observations, key=lambda each: (-each.proof_count, each.create_time, each.observation_id))


def _is_late(pool: Pool, known: Observation, fact_ids: Iterable[UUID]) -> bool:
    """Tells whether facts are all older than what an observation rests on.

    They are not where one of them is its own: then the observation is being judged again.
    """
    own = {each.fact_id for each in known.support}
    newest: datetime | None = known.last_time
    cited = [pool.facts[fact_id] for fact_id in fact_ids]
    return newest is not None and all(fact.fact_id not in own and fact.valid_from < newest for fact in cited)


def _new(known: Observation, fact_ids: Iterable[UUID]) -> set[UUID]:
    return set(fact_ids) - {each.fact_id for each in known.support}


def _reason(text: str) -> str:
    cleaned = "".join(c for c in text if c != "\x00" and not "\ud800" <= c <= "\udfff")
    return cleaned.strip()[:MAX_REASON]


def without_late(planned: Plan, stands: Iterable[Change]) -> Plan:
    """Returns the plan without the late changes, but for those whose wording stands beside the present one."""
    accepted = list(stands)
    kept, refused = [], []
    for change in planned.changes:
        if change.is_late and change not in accepted:
            refused.append(Refusal(change.observation_id, Refused.OLDER_NEWS))
        else:
            kept.append(change)
    return Plan(tuple(kept), (*planned.refusals, *refused))
