"""Which status a fact may go to from which."""

from __future__ import annotations

from concord_server.domain.enums import FactStatus
from concord_server.domain.errors import IllegalStatusTransitionError

_S = FactStatus

CALLER_TRANSITIONS: dict[FactStatus, frozenset[FactStatus]] = {
    _S.PENDING: frozenset({_S.SUPERSEDED, _S.DISPUTED, _S.ARCHIVED, _S.RETRACTED, _S.DELETED}),
    _S.ACTIVE: frozenset({_S.SUPERSEDED, _S.DISPUTED, _S.ARCHIVED, _S.RETRACTED, _S.DELETED}),
    _S.SUPERSEDED: frozenset({_S.DISPUTED, _S.ARCHIVED, _S.RETRACTED, _S.DELETED}),
    _S.DISPUTED: frozenset({_S.ACTIVE, _S.SUPERSEDED, _S.ARCHIVED, _S.RETRACTED, _S.DELETED}),
    _S.ARCHIVED: frozenset({_S.ACTIVE, _S.DELETED}),
    _S.RETRACTED: frozenset({_S.ACTIVE, _S.DELETED}),
    _S.DELETED: frozenset(),
}
"""Steps that a caller may ask for. PENDING to ACTIVE happens by resolving a conflict, by a trusted statement of
the quarantined value or by the scheduler alone; SUPERSEDED to ACTIVE by a re-fold alone."""


def check_transition(old: FactStatus, new: FactStatus) -> None:
    """Checks a step that a caller asks for.

    Raises:
        IllegalStatusTransitionError: the step is not in :data:`CALLER_TRANSITIONS`.
    """
    if new not in CALLER_TRANSITIONS[old]:
        raise IllegalStatusTransitionError(old.value, new.value)
