"""Turns the items of a model's answer into candidates, one by one; what cannot be one is refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import ValidationError

from concord_server.domain.answers import Answer, UnreadableAnswer, items_of
from concord_server.domain.commands import ClaimInput
from concord_server.domain.consolidation import Rejection, admit, candidate_key, rendered
from concord_server.domain.enums import CandidateAction
from concord_server.domain.events import Event, EventCandidate
from concord_server.domain.extraction import Grounding, passages_of
from concord_server.domain.extraction.grounding import AGENT_ROLES
from concord_server.domain.extraction.instructions import is_instruction
from concord_server.domain.model import EvidenceInput
from concord_server.domain.values import Json, normalise_subject
from concord_server.ports.events import RejectedCandidate
from concord_server.services.extraction.items import FactItem

EXTRACTION_METHOD = "model"
ITEM_KEYS = ("predicate",)
MAX_REJECTED = 200
"""Refused items that are told one by one; what comes after them is told as one."""

_MAX_WORDS = 200
_SPEAKERS = frozenset(
    {"user", "the user", "i", "me", "myself", "speaker", "the speaker", "subject", "the subject"}
)
_PARTITION_KEYS = ("access_scope", "scope", "project", "tenant", "owner", "domain")


@dataclass(slots=True)
class Taken:
    """What was taken from an event so far, over all answers about it.

    Attributes:
        candidates: valid ones, and those that the model itself says not to keep.
        rejected: what was refused.
    """

    event: Event
    limit: int
    candidates: list[EventCandidate] = field(default_factory=list)
    rejected: list[RejectedCandidate] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _valid: int = 0
    _unlisted: int = 0

    def take(self, answer: Answer) -> UnreadableAnswer | None:
        """Adds what an answer holds; returns why nothing of it can be used, ``None`` when it can."""
        items = items_of(answer, "facts", ITEM_KEYS)
        if isinstance(items, UnreadableAnswer):
            return items
        reader = _ItemReader(self.event, bare=items.bare)
        for item in items.values:
            for read in reader.read(item):
                self._add(read)
        return None

    def refuse(self, text: str, reason: str) -> None:
        """Adds something that was refused."""
        if len(self.rejected) < MAX_REJECTED:
            self.rejected.append(RejectedCandidate(_storable(text), _storable(reason)))
        else:
            self._unlisted += 1
            last = RejectedCandidate(f"and {self._unlisted} more", "too_many_facts")
            self.rejected[MAX_REJECTED:] = [last]

    def _add(self, read: EventCandidate | RejectedCandidate) -> None:
        if isinstance(read, RejectedCandidate):
            self.refuse(read.text, read.reason)
            return
        admitted = admit(self.event, read)
        if isinstance(admitted, Rejection):
            self.refuse(_shortened(read.text) or _claim_words(read), admitted.reason)
            return
        key = candidate_key(self.event, read)  # only what can be stored has one
        if key in self._keys:
            self.refuse(_shortened(admitted.text), "said_twice")
        elif self._valid >= self.limit:
            self.refuse(_shortened(admitted.text), "too_many_facts")
        else:
            self._valid += 1
            self._keys.add(key)
            self.candidates.append(read)


@dataclass(slots=True)
class _ItemReader:
    """Reads the items of one answer about one event."""

    event: Event
    bare: bool
    _grounding: Grounding = field(init=False)
    _aliases: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._grounding = passages_of(self.event)
        self._aliases = subject_names(self.event)

    def read(self, item: Json) -> Iterator[EventCandidate | RejectedCandidate]:
        """Yields the candidate of an item, or why there is none; and what else in it is refused."""
        if not isinstance(item, dict):
            yield RejectedCandidate(_in_short(item), "not_an_object")
            return
        if self.bare and item.get("value") is None and "object" in item:
            item = {**{name: value for name, value in item.items() if name != "object"}, "value": item["object"]}
        try:
            fact = FactItem.model_validate(item)
        except ValidationError as error:
            yield RejectedCandidate(_in_short(item), _reason(error, item))
            return
        candidate = self._candidate(fact)
        refused = self._refusal(fact)
        if refused is not None:
            yield RejectedCandidate(_shortened(candidate.text) or _claim_words(candidate), refused)
            return
        yield candidate
        for name in fact.others:
            if name == "id" or name.endswith(("_id", "_ids")):
                yield RejectedCandidate(f"{name}: {_in_short(fact.others[name])}", "unknown_id")

    def _refusal(self, fact: FactItem) -> str | None:
        if fact.action is CandidateAction.REJECT:
            return fact.reason.strip()[:_MAX_WORDS] or "rejected_by_model"
        if fact.value is None:
            return "missing_value"
        if fact.subject.strip() and normalise_subject(fact.subject) not in self._aliases:
            return "other_subject"
        if self._leaves_partition(fact.others):
            return "other_scope"
        stated = " \n".join((fact.predicate.replace("_", " "), fact.text, _text_of(fact.value)))
        if is_instruction(stated):
            return "instruction_to_agent"
        if fact.evidence:
            return self._grounding.problem_of_quotes(fact.evidence)
        return self._grounding.problem_of_value(fact.value)

    def _leaves_partition(self, others: Mapping[str, Json]) -> bool:
        own = {self.event.access_scope, self.event.domain} - {""}
        wanted = [others[key] for key in _PARTITION_KEYS if key in others]
        return any(
            not isinstance(name, str) or (name not in own and normalise_subject(name) not in self._aliases)
            for name in wanted
        )

    def _candidate(self, fact: FactItem) -> EventCandidate:
        quotes = tuple(
            EvidenceInput(
                quote=quote,
                source_kind="event",
                source_ref=str(self.event.event_id),
                confidence=fact.confidence,
                extraction_method=EXTRACTION_METHOD,
            )
            for quote in fact.evidence
        )
        # The subject is the event's, by whichever of its names the model called it.
        claim = ClaimInput("", fact.predicate, fact.value, fact.qualifiers, fact.cardinality)
        return EventCandidate(
            claim=replace(claim, subject=self.event.subject.entity_id),
            text=fact.text.strip(),
            type=fact.type,
            action=fact.action,
            confidence=fact.confidence,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            volatility=fact.volatility,
            evidence=quotes,
        )


def subject_names(event: Event) -> frozenset[str]:
    """Returns the names that mean the event's subject: its id, its type, the speaker where there is one alone."""
    names = {event.subject.entity_id, event.subject.entity_type, f"the {event.subject.entity_type}"}
    names.add(f"{event.subject.entity_type}:{event.subject.entity_id}")
    speakers = {m.name.strip() for m in event.messages if m.role.strip().casefold() not in AGENT_ROLES}
    if len(speakers) <= 1:
        names |= speakers | _SPEAKERS
    return frozenset(normalise_subject(name) for name in names if name.strip())


def listed(candidates: Sequence[EventCandidate]) -> list[str]:
    """Returns candidates in words, as they are told to a model that is to go on."""
    return [_claim_words(candidate) for candidate in candidates]


def _claim_words(candidate: EventCandidate) -> str:
    return "" if candidate.claim is None else _shortened(rendered(candidate.claim))


def _reason(error: ValidationError, item: Mapping[str, Json]) -> str:
    """Returns which field makes an item invalid."""
    name = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
    missing = item.get(name) is None or item.get(name) == ""
    return f"missing_{name}" if missing else f"invalid_{name}"


def _text_of(value: Json) -> str:
    return value if isinstance(value, str) else _in_short(value)


def _in_short(value: Json) -> str:
    return _shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _storable(text: str) -> str:
    """Returns a text that the database takes: it takes no NUL."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_WORDS else f"{text[: _MAX_WORDS - 1]}…"
