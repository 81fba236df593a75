"""Page tokens: opaque, and good for the request that they were given for alone."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from uuid import UUID

from google.protobuf.message import Message

from concord_server.api.parsing.idempotency import fingerprint
from concord_server.domain.errors import InvalidPageTokenError
from concord_server.domain.queries import Cursor

_VERSION = 1
_FIELDS_THAT_MAY_CHANGE = ("page_size", "page_token")
_MAX_LENGTH = 2048


class PageTokens:
    """Writes and reads the page tokens of one list request.

    A token carries the cursor and a digest over project, method, the request's other fields and the cursor. The
    page size may change between pages.

    Args:
        project: whose list it is.
        method: full name of the RPC.
        request: the request as received.
    """

    def __init__(self, project: str, method: str, request: Message) -> None:
        self._scope = f"{project}\x00{fingerprint(method, request, without=_FIELDS_THAT_MAY_CHANGE)}"

    def write(self, cursor: Cursor | None) -> str:
        """Returns the token of the page after ``cursor``, empty at the end."""
        if cursor is None:
            return ""
        content = [_VERSION, cursor.value, cursor.last_id.hex, self._digest(cursor)]
        text = json.dumps(content, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def read(self, token: str) -> Cursor | None:
        """Returns where the page starts, ``None`` for the first one.

        Raises:
            InvalidPageTokenError: the token is garbled, from another release or from another request.
        """
        if not token:
            return None
        try:
            cursor, digest = _decode(token)
        except (ValueError, TypeError, RecursionError, binascii.Error):
            raise InvalidPageTokenError.of("page_token", "is not a token that this service gave out") from None
        if digest != self._digest(cursor):
            raise InvalidPageTokenError.of(
                "page_token", "belongs to another request; only page_size may change between pages"
            )
        return cursor

    def _digest(self, cursor: Cursor) -> str:
        text = f"{self._scope}\x00{cursor.last_id.hex}\x00{cursor.value}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _decode(token: str) -> tuple[Cursor, str]:
    if len(token) > _MAX_LENGTH:
        raise ValueError("longer than any token")
    padded = token.encode("ascii") + b"=" * (-len(token) % 4)
    version, *parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if version != _VERSION or not all(isinstance(part, str) for part in parts):
        raise ValueError("unknown form")
    value, last_id, digest = parts
    return Cursor(value, UUID(hex=last_id)), digest
