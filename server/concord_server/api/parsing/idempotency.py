"""How a repeated request is told from another one under the same id."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TypeVar

from google.protobuf.message import Message

from concord_server.api.parsing.fields import parse_optional_id
from concord_server.domain.commands import Violations
from concord_server.services.context import Idempotency

T = TypeVar("T")


def fingerprint(method: str, request: Message, *, without: tuple[str, ...]) -> str:
    """Returns a digest of a request as received, fields that this server does not know included.

    Args:
        method: full name of the RPC.
        request: left as it is.
        without: names of the fields that do not count.
    """
    bare = type(request)()
    bare.CopyFrom(request)
    for name in without:
        bare.ClearField(name)
    digest = hashlib.sha256(method.encode())
    digest.update(b"\x00")
    digest.update(bare.SerializeToString(deterministic=True))
    return digest.hexdigest()


def parse_idempotency(
    method: str, request: Message, request_id: str, encode: Callable[[T], bytes], found: Violations
) -> Idempotency[T] | None:
    """Returns under which id a request may be repeated, ``None`` when it has none.

    Args:
        method: full name of the RPC; calls through other RPCs that mean the same give the same name.
        request: the request as received.
        request_id: its ``request_id``.
        encode: turns the first answer into what is stored.
        found: gets what is wrong with the id.
    """
    identifier = parse_optional_id("request_id", request_id, found)
    if identifier is None:
        return None
    return Idempotency(
        request_id=identifier,
        method=method,
        fingerprint=fingerprint(method, request, without=("request_id",)),
        encode=encode,
    )
