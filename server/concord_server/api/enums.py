"""The enums of the contract beside those of the domain, both ways, by name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar

from concord.v1 import admin_pb2, enums_pb2

from concord_server.domain import enums as domain
from concord_server.domain.judgement import Relation as DomainRelation
from concord_server.domain.project_settings import JudgeMode as DomainJudgeMode

E = TypeVar("E", bound=Enum)
V = TypeVar("V", bound=int)
V_co = TypeVar("V_co", bound=int, covariant=True)


class _ProtoEnum(Protocol[V_co]):
    """What generated enums offer."""

    def keys(self) -> Sequence[str]:
        """Returns the names of the values."""

    def Value(self, name: str | bytes) -> V_co:  # noqa: N802 - the name that protobuf gave it
        """Returns the number of a value."""


class EnumCodec(Generic[E, V]):
    """Turns the numbers of a contract enum into members of its domain enum, and back.

    Both have the same names, the contract's with a prefix (``FACT_TYPE_EVENT`` is ``EVENT``) and with an
    additional ``_UNSPECIFIED``.

    Raises:
        ValueError: at import, when the two enums do not have the same names.
    """

    def __init__(self, proto: _ProtoEnum[V], domain_enum: type[E]) -> None:
        unspecified = next(name for name in proto.keys() if name.endswith("_UNSPECIFIED"))  # noqa: SIM118
        prefix = unspecified.removesuffix("UNSPECIFIED")
        self.unspecified: V = proto.Value(unspecified)
        self._names = sorted(member.name for member in domain_enum)
        contract = sorted(name.removeprefix(prefix) for name in proto.keys() if name != unspecified)  # noqa: SIM118
        if contract != self._names:
            raise ValueError(f"{domain_enum.__name__} differs from the contract: {self._names} and {contract}")
        self._to_proto = {member: proto.Value(prefix + member.name) for member in domain_enum}
        self._from_proto: dict[int, E] = {number: member for member, number in self._to_proto.items()}

    def to_proto(self, member: E) -> V:
        """Returns the contract's number of a domain member."""
        return self._to_proto[member]

    def optional_to_proto(self, member: E | None) -> V:
        """Returns the contract's number of a domain member, UNSPECIFIED for ``None``."""
        return self.unspecified if member is None else self._to_proto[member]

    def from_proto(self, number: int) -> E | None:
        """Returns the domain member of a number, ``None`` for UNSPECIFIED and for unknown numbers."""
        return self._from_proto.get(number)

    def problem(self, number: int) -> str | None:
        """Returns what is wrong with a number that a caller sent, ``None`` when it may be sent."""
        if number == self.unspecified or number in self._from_proto:
            return None
        return f"unknown value {number}; known are {', '.join(self._names)}"


FACT_TYPE = EnumCodec(enums_pb2.FactType, domain.FactType)
FACT_STATUS = EnumCodec(enums_pb2.FactStatus, domain.FactStatus)
EVOLUTION_TYPE = EnumCodec(enums_pb2.EvolutionType, domain.EvolutionType)
SUBJECT_ROLE = EnumCodec(enums_pb2.SubjectRole, domain.SubjectRole)
EVIDENCE_STANCE = EnumCodec(enums_pb2.EvidenceStance, domain.EvidenceStance)
CONTENT_RELATIONSHIP = EnumCodec(enums_pb2.ContentRelationship, domain.ContentRelationship)
CARDINALITY = EnumCodec(enums_pb2.Cardinality, domain.Cardinality)
TRUST = EnumCodec(enums_pb2.Trust, domain.Trust)
VOLATILITY = EnumCodec(enums_pb2.Volatility, domain.Volatility)
FRESHNESS = EnumCodec(enums_pb2.Freshness, domain.Freshness)
RECONCILE_ACTION = EnumCodec(enums_pb2.ReconcileAction, domain.ReconcileAction)
DECISION_BASIS = EnumCodec(enums_pb2.DecisionBasis, domain.DecisionBasis)
RELATION = EnumCodec(enums_pb2.Relation, DomainRelation)
CONTRADICTION_POLICY = EnumCodec(enums_pb2.ContradictionPolicy, domain.ContradictionPolicy)
JUDGE_MODE = EnumCodec(admin_pb2.JudgeMode, DomainJudgeMode)
CONFLICT_STATE = EnumCodec(enums_pb2.ConflictState, domain.ConflictState)
FACT_CHANGE = EnumCodec(enums_pb2.FactChange, domain.FactChange)
CLAIM_SUPPORT = EnumCodec(enums_pb2.ClaimSupport, domain.ClaimSupport)
RUN_STATE = EnumCodec(enums_pb2.RunState, domain.RunState)
RUN_STAGE = EnumCodec(enums_pb2.RunStage, domain.RunStage)
EVENT_STATE = EnumCodec(enums_pb2.EventState, domain.EventState)
CANDIDATE_ACTION = EnumCodec(enums_pb2.CandidateAction, domain.CandidateAction)
CANDIDATE_OUTCOME = EnumCodec(enums_pb2.CandidateOutcome, domain.CandidateOutcome)
OBSERVATION_ACTION = EnumCodec(enums_pb2.ObservationAction, domain.ObservationAction)
OBSERVATION_STATE = EnumCodec(enums_pb2.ObservationState, domain.ObservationState)
TREND = EnumCodec(enums_pb2.Trend, domain.Trend)
