"""Who calls, and how a repeated call gets its first answer again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from concord_server.domain.enums import Trust

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CallContext:
    """The caller, as the credential says.

    Attributes:
        project: whose ledger this is about.
        actor: who is recorded with changes.
        trust_cap: the highest trust that the caller may claim.
    """

    project: str
    actor: str = "anonymous"
    trust_cap: Trust = Trust.TRUSTED


@dataclass(frozen=True, slots=True)
class Idempotency(Generic[T]):
    """A request that may be sent again under its id.

    Attributes:
        method: full name of the RPC.
        fingerprint: digest of the request as received.
        encode: turns the first answer into the bytes that are stored with it.
    """

    request_id: UUID
    method: str
    fingerprint: str
    encode: Callable[[T], bytes]


@dataclass(frozen=True, slots=True)
class Replay:
    """The stored answer of a request that was answered before."""

    response: bytes
