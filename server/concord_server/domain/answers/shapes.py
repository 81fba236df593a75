"""Tells answers from other JSON."""

from __future__ import annotations

from collections.abc import Collection

from concord_server.domain.values import Json

MAX_WRAPPERS = 4
"""Objects and lists around an answer that are looked through."""


def holds(value: Json, wanted: Collection[str], depth: int = 0) -> bool:
    """Tells whether a value is, or is wrapped around, an object with one of the wanted keys."""
    if isinstance(value, dict):
        if any(key in value for key in wanted):
            return True
        return depth < MAX_WRAPPERS and any(
            holds(member, wanted, depth + 1) for member in value.values() if isinstance(member, dict | list)
        )
    if isinstance(value, list):
        return depth < MAX_WRAPPERS and any(
            holds(element, wanted, depth + 1) for element in value if isinstance(element, dict | list)
        )
    return False
