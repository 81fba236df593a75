"""What writes ask for, and whether it can be asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from concord_server.domain.enums import (
    Cardinality,
    ContradictionPolicy,
    FactType,
    Trust,
    Volatility,
)
from concord_server.domain.errors import FieldViolation, InvalidFieldsError
from concord_server.domain.model import (
    Claim,
    ContentLink,
    EntityRef,
    EvidenceInput,
    Partition,
    SourceInput,
    Thresholds,
)
from concord_server.domain.text import characters_problem, label_problem, required_label_problem, text_problem
from concord_server.domain.values import Json, normalise_predicate, value_problem

OBSERVE_TIME_TOLERANCE = timedelta(minutes=5)
"""How far ahead of now a statement may have been made."""

MAX_LABEL = 256
MAX_ENTITY_TYPE = 64
MAX_PREDICATE = 128
MAX_QUOTE = 4000
MAX_URL = 2048
MAX_TAGS = 100
MAX_LINKS = 100


ANY_THRESHOLDS = Thresholds(similarity=1.0, conflict=0.0)
"""Beside these, whatever thresholds a call may set are in order, so that only those it sets are checked."""


class Violations:
    """Collects what is wrong with a request, so that one answer names every bad field, each once."""

    def __init__(self) -> None:
        self._found: dict[str, FieldViolation] = {}

    def add(self, name: str, problem: str | None) -> None:
        """Adds a problem with a field, the first of which counts; ``None`` is no problem."""
        if problem:
            self._found.setdefault(name, FieldViolation(name, problem))

    def unit_interval(self, name: str, value: float | None) -> None:
        """Adds a problem when ``value`` is given and not a finite number in [0, 1]."""
        if value is not None and not (math.isfinite(value) and 0.0 <= value <= 1.0):
            self.add(name, "must be a finite number in [0, 1]")

    def raise_if_any(self) -> None:
        """Raises what was collected.

        Raises:
            InvalidFieldsError: at least one problem was added.
        """
        if self._found:
            raise InvalidFieldsError(list(self._found.values()))


@dataclass(frozen=True, slots=True)
class ClaimInput:
    """A claim as the caller gave it; ``cardinality`` is ``None`` when it leaves that to the predicate."""

    subject: str
    predicate: str
    value: Json
    qualifiers: Mapping[str, Json] = field(default_factory=dict)
    cardinality: Cardinality | None = None

    def normalised(self) -> Claim:
        """Returns the claim with its predicate in lower snake case."""
        return Claim(
            subject=self.subject.strip(),
            predicate=normalise_predicate(self.predicate),
            value=self.value,
            qualifiers=dict(self.qualifiers),
            cardinality=self.cardinality or Cardinality.SINGLE,
        )


@dataclass(frozen=True, slots=True)
class ThresholdOverrides:
    """Thresholds that a call sets for itself; ``None`` leaves the project's."""

    similarity: float | None = None
    conflict: float | None = None
    merge_probability: float | None = None

    def over(self, base: Thresholds) -> Thresholds:
        """Returns ``base`` with what is set here."""
        return Thresholds(
            similarity=base.similarity if self.similarity is None else self.similarity,
            conflict=base.conflict if self.conflict is None else self.conflict,
            merge_probability=(
                base.merge_probability if self.merge_probability is None else self.merge_probability
            ),
            supersede_probability=base.supersede_probability,
        )


@dataclass(frozen=True, slots=True)
class ReconcileCommand:
    """A statement handed over, as validated by :func:`validate_reconcile`.

    Attributes:
        observe_time: when the statement was made; ``None`` is now.
        valid_from: since when it holds; ``None`` is ``observe_time``.
        trust: of the statement: that of its source, capped by the caller's credential.
        contradiction_policy: ``None`` leaves the project's.
        volatility: ``None`` leaves it to what is known, else STABLE.
    """

    text: str
    type: FactType = FactType.ASSERTION
    domain: str = ""
    access_scope: str = ""
    owner: EntityRef | None = None
    claim: ClaimInput | None = None
    source: SourceInput | None = None
    evidence: tuple[EvidenceInput, ...] = ()
    subjects: tuple[EntityRef, ...] = ()
    contents: tuple[ContentLink, ...] = ()
    tags: tuple[str, ...] = ()
    observe_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    thresholds: ThresholdOverrides = ThresholdOverrides()
    contradiction_policy: ContradictionPolicy | None = None
    corroboration_score: float = 0.0
    volatility: Volatility | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    validate_only: bool = False

    @property
    def partition(self) -> Partition:
        """The partition that the statement belongs to."""
        owner = self.owner
        return Partition(
            access_scope=self.access_scope,
            domain=self.domain,
            type=self.type,
            owner_type=owner.entity_type if owner else "",
            owner_id=owner.entity_id if owner else "",
        )

    @property
    def trust(self) -> Trust:
        """The trust of the statement's source."""
        return self.source.trust if self.source else Trust.TRUSTED


def validate_reconcile(command: ReconcileCommand, base: Thresholds, now: datetime, found: Violations) -> None:
    """Adds everything that is wrong with a statement to ``found``; reads and writes nothing."""
    found.add("text", text_problem(command.text))
    validate_fact_fields(command, found)
    validate_thresholds(command.thresholds, base, found)
    if command.observe_time is not None and command.observe_time > now + OBSERVE_TIME_TOLERANCE:
        found.add("observe_time", "must be at most 5 minutes ahead")
    start = command.valid_from or command.observe_time or now
    validate_interval(start, command.valid_to, command.type, found)


def validate_thresholds(overrides: ThresholdOverrides, base: Thresholds, found: Violations) -> None:
    """Adds what is wrong with thresholds that a call sets over ``base``."""
    found.unit_interval("similarity_threshold", overrides.similarity)
    found.unit_interval("conflict_threshold", overrides.conflict)
    found.unit_interval("merge_probability_threshold", overrides.merge_probability)
    effective = overrides.over(base)
    if 0.0 <= effective.similarity < effective.conflict <= 1.0:
        name = "similarity_threshold" if overrides.conflict is None else "conflict_threshold"
        found.add(name, "conflict_threshold must be at most similarity_threshold")


def validate_interval(start: datetime, end: datetime | None, fact_type: FactType, found: Violations) -> None:
    """Adds a problem when the interval is inverted, or empty for anything but an occurrence."""
    if end is None:
        return
    if end < start:
        found.add("valid_to", "must not be before valid_from")
    elif end == start and fact_type is not FactType.EVENT:
        found.add("valid_to", "must be after valid_from")


def validate_fact_fields(command: ReconcileCommand, found: Violations) -> None:
    """Adds what is wrong with the fields that every new statement has."""
    found.add("domain", label_problem(command.domain, max_length=MAX_LABEL))
    found.add("access_scope", label_problem(command.access_scope, max_length=MAX_LABEL))
    if command.owner is not None:
        validate_entity("owner", command.owner, found)
    if command.claim is not None:
        validate_claim("claim", command.claim, found)
    if command.source is not None:
        validate_source("source", command.source, found)
    for index, item in enumerate(command.evidence):
        validate_evidence(f"evidence[{index}]", item, found)
    for index, subject in enumerate(command.subjects):
        validate_entity(f"subjects[{index}]", subject, found)
    for index, content in enumerate(command.contents):
        name = f"contents[{index}].content_id"
        found.add(name, required_label_problem(content.content_id, max_length=MAX_LABEL))
    for index, tag in enumerate(command.tags):
        found.add(f"tags[{index}]", required_label_problem(tag, max_length=MAX_LABEL))
    _at_most("tags", len(command.tags), MAX_TAGS, found)
    _at_most("subjects", len(command.subjects), MAX_LINKS, found)
    _at_most("contents", len(command.contents), MAX_LINKS, found)
    _at_most("evidence", len(command.evidence), MAX_LINKS, found)
    found.unit_interval("corroboration_score", command.corroboration_score)
    found.add("metadata", value_problem(dict(command.metadata)))


def validate_entity(name: str, entity: EntityRef, found: Violations) -> None:
    """Adds what is wrong with a reference to an entity."""
    validate_entity_type(f"{name}.entity_type", entity.entity_type, found)
    validate_entity_id(f"{name}.entity_id", entity.entity_id, found)


def validate_entity_type(name: str, text: str, found: Violations) -> None:
    """Adds what is wrong with the type of an entity."""
    found.add(name, required_label_problem(text, max_length=MAX_ENTITY_TYPE))


def validate_entity_id(name: str, text: str, found: Violations) -> None:
    """Adds what is wrong with the id of an entity."""
    found.add(name, required_label_problem(text, max_length=MAX_LABEL))


def validate_claim(name: str, claim: ClaimInput, found: Violations) -> None:
    """Adds what is wrong with a claim."""
    found.add(f"{name}.subject", required_label_problem(claim.subject, max_length=MAX_LABEL))
    if not any(character.isalnum() for character in claim.predicate):
        found.add(f"{name}.predicate", "must contain a letter or a digit")
    elif len(claim.predicate) > MAX_PREDICATE:
        found.add(f"{name}.predicate", f"must have at most {MAX_PREDICATE} characters")
    else:
        found.add(f"{name}.predicate", characters_problem(claim.predicate))
    if claim.value is None:
        found.add(f"{name}.value", "must be given")
    found.add(f"{name}.value", value_problem(claim.value))
    found.add(f"{name}.qualifiers", value_problem(dict(claim.qualifiers)))


def validate_source(name: str, source: SourceInput, found: Violations) -> None:
    """Adds what is wrong with a source."""
    if not (source.external_id or source.url or source.title or source.source_type):
        found.add(name, "must have an external_id, a url, a title or a source_type")
    found.unit_interval(f"{name}.credibility", source.credibility)
    for part, text in (
        ("source_type", source.source_type),
        ("url", source.url),
        ("title", source.title),
        ("external_id", source.external_id),
    ):
        found.add(f"{name}.{part}", label_problem(text, max_length=MAX_URL))
    found.add(f"{name}.metadata", value_problem(dict(source.metadata)))


def validate_evidence(name: str, item: EvidenceInput, found: Violations) -> None:
    """Adds what is wrong with a piece of evidence."""
    if len(item.quote) > MAX_QUOTE:
        found.add(f"{name}.quote", f"must have at most {MAX_QUOTE} characters")
    found.unit_interval(f"{name}.confidence", item.confidence)
    for part, text in (
        ("quote", item.quote),
        ("locator", item.locator),
        ("source_kind", item.source_kind),
        ("source_ref", item.source_ref),
        ("extraction_method", item.extraction_method),
    ):
        found.add(f"{name}.{part}", characters_problem(text))


def _at_most(name: str, count: int, limit: int, found: Violations) -> None:
    if count > limit:
        found.add(name, f"must have at most {limit} items, has {count}")


@dataclass(frozen=True, slots=True)
class KeepOne:
    """Resolves a conflict in favour of one fact."""

    fact_id: UUID


@dataclass(frozen=True, slots=True)
class KeepNone:
    """Resolves a conflict by retracting every member."""


@dataclass(frozen=True, slots=True)
class KeepAll:
    """Resolves a conflict by keeping every member, where the predicate allows several values."""


Resolution = KeepOne | KeepNone | KeepAll
