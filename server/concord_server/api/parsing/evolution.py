"""What calls about lineage and history ask for, and withdrawing a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from concord.v1 import briefing_service_pb2, evolution_service_pb2, reconcile_service_pb2

from concord_server.api.enums import EVOLUTION_TYPE, FACT_TYPE, VOLATILITY
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import (
    parse_entity,
    parse_enum,
    parse_id,
    parse_label,
    parse_note,
    parse_page_size,
    parse_time,
)
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import PageQuery, parse_start
from concord_server.api.parsing.statements import parse_claim, parse_content, parse_evidence, parse_source
from concord_server.api.wellknown import to_json_object
from concord_server.domain.commands import ReconcileCommand, Violations, validate_reconcile
from concord_server.domain.enums import EvolutionType, FactType, Volatility
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.model import Fact, Thresholds
from concord_server.domain.queries import FactOrder
from concord_server.ports.sources import SourceName
from concord_server.services.branch import BranchCommand, Branched
from concord_server.services.context import Idempotency
from concord_server.services.update_fact import FactUpdate
from concord_server.services.withdraw_source import Withdrawal

R = TypeVar("R", evolution_service_pb2.GetEvolutionTreeRequest, evolution_service_pb2.ListFactVersionsRequest)

BRANCH_METHOD = "concord.v1.EvolutionService/Branch"
UPDATE_FACT_METHOD = "concord.v1.EvolutionService/UpdateFact"
WITHDRAW_SOURCE_METHOD = "concord.v1.ReconcileService/WithdrawSource"

MAX_PARENTS = 100
"""Parents of one fact at most."""

MAX_IDS = 500
"""Facts that are read by id in one call at most."""

_MASK_PATHS = {
    name: field.name
    for field in evolution_service_pb2.UpdateFactRequest.DESCRIPTOR.fields
    for name in (field.name, field.json_name)
}
"""Names of fields as masks may have them: as in the proto, and as in its JSON form."""


@dataclass(frozen=True, slots=True)
class FactRevision:
    """What a caller wants changed about a fact; an empty ``etag`` means no check."""

    fact_id: UUID
    update: FactUpdate
    reason: str
    etag: str
    idempotency: Idempotency[Fact] | None


@dataclass(frozen=True, slots=True)
class SourceWithdrawal:
    """A source that a caller takes back."""

    source: SourceName
    reason: str
    idempotency: Idempotency[Withdrawal] | None


def parse_branch(
    request: evolution_service_pb2.BranchRequest, encode: Callable[[Branched], bytes], now: datetime
) -> tuple[BranchCommand, Idempotency[Branched] | None]:
    """Returns which fact to derive, and under which id the request may be repeated.

    As with statements, what can be read is left to the use case to validate; where something cannot be read, the
    rest is validated here, so that one answer names every bad field.

    Args:
        request: as received.
        encode: turns the first answer into what is stored for repeated requests.
        now: the current time.

    Raises:
        InvalidFieldsError: something cannot be read.
    """
    found = Violations()
    parents = _parse_ids("parent_ids", request.parent_ids, found, limit=MAX_PARENTS)
    command = BranchCommand(
        parent_ids=parents,
        evolution_type=parse_enum("evolution_type", request.evolution_type, EVOLUTION_TYPE, found)
        or EvolutionType.EXTENSION,
        statement=_statement(request, found),
        type_given=request.type != FACT_TYPE.unspecified,
    )
    idempotency = parse_idempotency(BRANCH_METHOD, request, request.request_id, encode, found)
    try:
        found.raise_if_any()
    except InvalidFieldsError:
        validate_reconcile(command.statement, Thresholds(), now, found)
        found.raise_if_any()
    return command, idempotency


def _statement(request: evolution_service_pb2.BranchRequest, found: Violations) -> ReconcileCommand:
    return ReconcileCommand(
        text=request.text,
        type=parse_enum("type", request.type, FACT_TYPE, found) or FactType.ASSERTION,
        domain=request.domain,
        access_scope=request.access_scope,
        owner=parse_entity("owner", request.owner, found) if request.HasField("owner") else None,
        claim=parse_claim("claim", request.claim, found) if request.HasField("claim") else None,
        source=parse_source("source", request.source, found) if request.HasField("source") else None,
        evidence=tuple(parse_evidence(f"evidence[{i}]", e, found) for i, e in enumerate(request.evidence)),
        subjects=tuple(parse_entity(f"subjects[{i}]", e, found) for i, e in enumerate(request.subjects)),
        contents=tuple(parse_content(f"contents[{i}]", c, found) for i, c in enumerate(request.contents)),
        tags=tuple(request.tags),
        observe_time=parse_time(request, "observe_time", found),
        valid_from=parse_time(request, "valid_from", found),
        valid_to=parse_time(request, "valid_to", found),
        corroboration_score=request.corroboration_score,
        volatility=parse_enum("volatility", request.volatility, VOLATILITY, found),
        metadata=to_json_object(request.metadata),
    )


def parse_family_page(request: R, project: str, method: str) -> PageQuery[UUID]:
    """Returns a page of what hangs on one fact: of its family, or of its history.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    fact_id = parse_id("fact_id", request.fact_id, found)
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, method, request)
    after = parse_start(tokens, request.page_token, found)
    return PageQuery(fact_id, FactOrder(), after, size, tokens)


def parse_fact_update(
    request: evolution_service_pb2.UpdateFactRequest, encode: Callable[[Fact], bytes]
) -> FactRevision:
    """Returns what to change about a fact; a field that is named and not given is cleared.

    Args:
        request: as received; its mask has names as in the proto or as in its JSON form.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    update = FactUpdate(
        mask=frozenset(_MASK_PATHS.get(path, path) for path in request.update_mask.paths),
        valid_from=parse_time(request, "valid_from", found),
        valid_to=parse_time(request, "valid_to", found),
        tags=tuple(request.tags),
        metadata=to_json_object(request.metadata),
        volatility=parse_enum("volatility", request.volatility, VOLATILITY, found) or Volatility.STABLE,
        corroboration_score=request.corroboration_score,
    )
    revision = FactRevision(
        fact_id=parse_id("fact_id", request.fact_id, found),
        update=update,
        reason=parse_note("reason", request.reason, found),
        etag=parse_label("etag", request.etag, found),
        idempotency=parse_idempotency(UPDATE_FACT_METHOD, request, request.request_id, encode, found),
    )
    try:
        found.raise_if_any()
    except InvalidFieldsError:
        update.validate(found)
        found.raise_if_any()
    return revision


def parse_withdrawal(
    request: reconcile_service_pb2.WithdrawSourceRequest, encode: Callable[[Withdrawal], bytes]
) -> SourceWithdrawal:
    """Returns which source to withdraw.

    Args:
        request: as received.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    withdrawal = SourceWithdrawal(
        source=SourceName(external_id=request.external_id, url=request.url),
        reason=parse_note("reason", request.reason, found),
        idempotency=parse_idempotency(WITHDRAW_SOURCE_METHOD, request, request.request_id, encode, found),
    )
    found.raise_if_any()
    return withdrawal


def parse_fact_ids(request: briefing_service_pb2.BatchGetFactsRequest) -> tuple[UUID, ...]:
    """Returns which facts to read.

    Raises:
        InvalidFieldsError: there are none, too many, or some are no ids.
    """
    found = Violations()
    fact_ids = _parse_ids("fact_ids", request.fact_ids, found, limit=MAX_IDS)
    if not fact_ids:
        found.add("fact_ids", f"must have 1 to {MAX_IDS} ids")
    found.raise_if_any()
    return fact_ids


def _parse_ids(name: str, texts: Sequence[str], found: Violations, *, limit: int) -> tuple[UUID, ...]:
    if len(texts) > limit:
        found.add(name, f"must have at most {limit} ids, has {len(texts)}")
        return ()
    return tuple(parse_id(f"{name}[{index}]", text, found) for index, text in enumerate(texts))
