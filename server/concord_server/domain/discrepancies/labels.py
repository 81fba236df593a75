"""Tells numbers that name what a statement is about (order 5522, gate 6, BUG-12) from those that count something."""

from __future__ import annotations

import re

from concord_server.domain.discrepancies.alignment import Statement
from concord_server.domain.discrepancies.mentions import Mention
from concord_server.domain.judgement import Discrepancy

_NUMBERED = (
    "account apartment batch block booking box building bus bug case chapter channel class contract customer "
    "desk door employee exit experiment flat flight floor gate group house incident invoice issue item lane "
    "lesson level line lot machine member node order page patient phase pier platform policy port project "
    "request room route row sample seat section server ship shipment sprint stage station step stop student "
    "suite table task team terminal ticket track train tram truck unit user volume ward window zone"
)
"""Nouns whose instances are told apart by numbers."""

_LEADING = re.compile(
    r"^\s*(?:the\s+|[\w-]+(?:'s|’s)\s+)?(?:(?P<noun>[a-z]+)\s+)?(?P<mark>\#|no\.?\s*|number\s+)?(?P<code>[a-z]{1,8}-)?$",
    re.IGNORECASE,
)


def names_subject(statement: Statement, mention: Mention) -> bool:
    """Whether a number is part of the name that the statement begins with."""
    if mention.kind is not Discrepancy.NUMBER or mention.measure:
        return False
    before = _LEADING.match(statement.text[: mention.start])
    if before is None:
        return False
    noun = (before["noun"] or "").lower()
    return bool(before["code"]) or (noun != "" and bool(before["mark"])) or noun in _NUMBERED.split()
