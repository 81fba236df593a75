"""What callers hand to the client. All are frozen; sequences and mappings may be of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final, Literal, TypeAlias

from concord._convert import FrozenDict, JsonValue
from concord.enums import (
    Cardinality,
    ContentRelationship,
    ContradictionPolicy,
    EvidenceStance,
    FactStatus,
    FactType,
    SubjectRole,
    Trust,
    Volatility,
)

_NOTHING: Mapping[str, JsonValue] = FrozenDict()


class Unset(Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET
"""Leaves a field as it is, where None would clear it."""

MaybeUnset: TypeAlias = Literal[Unset.UNSET]


@dataclass(frozen=True, slots=True)
class EntityRef:
    """An entity of the caller's world.

    Attributes:
        entity_type: kind of entity, 1 to 64 characters, such as "Person".
        entity_id: the caller's id of it, 1 to 256 characters.
        role: the part it plays; UNSPECIFIED means SUBJECT in a link and any role in a filter.
    """

    entity_type: str
    entity_id: str
    role: SubjectRole = SubjectRole.UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Claim:
    """The structured form of a statement: a triple with qualifiers.

    Attributes:
        subject: what it is about.
        predicate: the attribute, up to 128 characters; the service normalises it to lower snake case.
        value: any JSON. None is JSON's null.
        qualifiers: what else tells this slot from others of the same predicate.
        cardinality: how many values hold at once; UNSPECIFIED leaves it to the predicate.
    """

    subject: str
    predicate: str
    value: JsonValue = None
    qualifiers: Mapping[str, JsonValue] = field(default=_NOTHING)
    cardinality: Cardinality = Cardinality.UNSPECIFIED


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceInput:
    """Where a statement comes from. Its identity is external_id, else url, else (source_type, title).

    Attributes:
        source_type: kind of source, such as "document" or "person".
        url: address of the source.
        title: title or name.
        external_id: the caller's id, which ``withdraw_source`` takes.
        credibility: in [0, 1]; None leaves it to the service (0.5).
        extract_time: when the statement was taken from it.
        trust: how far it is believed, capped by the credential.
        metadata: anything else to keep.
    """

    source_type: str = ""
    url: str = ""
    title: str = ""
    external_id: str = ""
    credibility: float | None = None
    extract_time: datetime | None = None
    trust: Trust = Trust.UNSPECIFIED
    metadata: Mapping[str, JsonValue] = field(default=_NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceInput:
    """A passage for or against a statement.

    Attributes:
        quote: the words themselves, up to 4000 characters.
        stance: what the passage does for the statement; UNSPECIFIED means SUPPORTS.
        locator: where in the source, such as "page 4".
        source_kind: kind of source quoted, where it is another one than the statement's.
        source_ref: reference to the source quoted.
        confidence: of whoever extracted it, in [0, 1].
        extraction_method: how it was extracted.
    """

    quote: str = ""
    stance: EvidenceStance = EvidenceStance.UNSPECIFIED
    locator: str = ""
    source_kind: str = ""
    source_ref: str = ""
    confidence: float = 0.0
    extraction_method: str = ""


@dataclass(frozen=True, slots=True)
class ContentLink:
    """A link to a piece of content that the caller keeps.

    Attributes:
        content_id: the caller's id of the content.
        relationship: how the fact relates to it; UNSPECIFIED means EXTRACTED_FROM.
    """

    content_id: str
    relationship: ContentRelationship = ContentRelationship.UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for ``reconcile``, ``batch_reconcile``, ``reconcile_many`` and ``branch``.

    Times need a zone. ``branch`` takes no thresholds, no policy and no dry run; the partition (type, domain,
    access_scope, owner) is then inherited.

    Attributes:
        text: 1 to 8192 characters with at least one letter or digit.
        type: kind of statement; UNSPECIFIED means ASSERTION.
        domain: topic partition.
        access_scope: access partition, empty for unscoped facts.
        owner: whose fact it is.
        claim: the structured form; with one, its slot decides and the wording does not.
        source: where the statement comes from; without one, the number of sources does not rise.
        evidence: passages for or against it.
        subjects: entities to link.
        contents: contents to link.
        tags: labels.
        observe_time: when the statement was made; None means now, at most 5 minutes ahead.
        valid_from: from when it holds; None means observe_time.
        valid_to: until when it holds; None means open.
        similarity_threshold: in [0, 1]; None means the project's (0.85).
        conflict_threshold: in [0, similarity_threshold]; None means the project's (0.60).
        merge_probability_threshold: in [0, 1]; None means the project's (0.75).
        contradiction_policy: what a contradiction leads to; UNSPECIFIED means the project's (SUPERSEDE).
        corroboration_score: the caller's own measure of corroboration, in [0, 1].
        volatility: how fast the fact goes out of date.
        metadata: anything else to keep with the fact.
        request_id: UUID that makes the call repeatable; the client makes one if empty.
        validate_only: decides and writes nothing.
    """

    text: str
    _: KW_ONLY
    type: FactType = FactType.UNSPECIFIED
    domain: str = ""
    access_scope: str = ""
    owner: EntityRef | None = None
    claim: Claim | None = None
    source: SourceInput | None = None
    evidence: Sequence[EvidenceInput] = ()
    subjects: Sequence[EntityRef] = ()
    contents: Sequence[ContentLink] = ()
    tags: Sequence[str] = ()
    observe_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    similarity_threshold: float | None = None
    conflict_threshold: float | None = None
    merge_probability_threshold: float | None = None
    contradiction_policy: ContradictionPolicy = ContradictionPolicy.UNSPECIFIED
    corroboration_score: float = 0.0
    volatility: Volatility = Volatility.UNSPECIFIED
    metadata: Mapping[str, JsonValue] = field(default=_NOTHING)
    request_id: str = ""
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """Which facts to read. Every condition that is given must hold.

    Attributes:
        domain: only this domain; empty for all.
        access_scope: only this scope; "" for unscoped facts alone, None for every scope the credential may
            read.
        types: only these types; empty for all.
        statuses: only these statuses; empty for all but DELETED (in a search: for current facts).
        entity: only facts linked to or owned by it; with a role, linked in that role.
        owner: only facts owned by it.
        content_id: only facts linked to this content.
        tag: only facts with this label.
        predicate: only facts whose claim has this predicate.
        min_confidence: only facts at least this confident, in [0, 1].
        as_of: what held at this time.
        known_at: as it was on record at this time.
    """

    domain: str = ""
    access_scope: str | None = None
    types: Sequence[FactType] = ()
    statuses: Sequence[FactStatus] = ()
    entity: EntityRef | None = None
    owner: EntityRef | None = None
    content_id: str = ""
    tag: str = ""
    predicate: str = ""
    min_confidence: float = 0.0
    as_of: datetime | None = None
    known_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tls:
    """How to secure the connection.

    Attributes:
        root_certificates: PEM of the authorities to trust; None for those that come with gRPC.
        private_key: PEM of the client's key, where the server asks for one.
        certificate_chain: PEM of the client's certificate.
        server_name: name to expect in the server's certificate, where it is not the host of the target.
    """

    root_certificates: bytes | None = None
    private_key: bytes | None = field(default=None, repr=False)
    certificate_chain: bytes | None = None
    server_name: str = ""
