"""Runs every detector over one pair of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from concord_server.domain.discrepancies.alignment import Alignment, align, read
from concord_server.domain.discrepancies.comparison import find_comparisons
from concord_server.domain.discrepancies.modality import find_modals, find_quantifiers
from concord_server.domain.discrepancies.polarity import find_polarity
from concord_server.domain.discrepancies.quantities import find_quantities
from concord_server.domain.discrepancies.roles import find_roles, swapped_by_inverse
from concord_server.domain.discrepancies.subjects import find_definites, find_names, find_nouns, find_values
from concord_server.domain.judgement import Discrepancy, Finding
from concord_server.domain.text import text_key

_ORDER = {kind: position for position, kind in enumerate(Discrepancy)}
_ALWAYS: tuple[Callable[[Alignment], Iterator[Finding]], ...] = (find_quantities,)
_ENGLISH: tuple[Callable[[Alignment], Iterator[Finding]], ...] = (
    find_polarity,
    find_modals,
    find_quantifiers,
    find_comparisons,
    find_roles,
    find_names,
    find_values,
    find_nouns,
    find_definites,
)
_INVERTED = frozenset((Discrepancy.ANTONYM, Discrepancy.COMPARISON, Discrepancy.ROLE))


def detect(statement: str, known: str) -> tuple[Finding, ...]:
    """Returns what differs in meaning between ``statement`` and ``known``, in the order of ``Discrepancy``.

    Any text is accepted. Texts with the same text key give no finding. Quantities are read in every
    language with digits; the other detectors read English and stay silent where either text is not.
    """
    if text_key(statement) == text_key(known):
        return ()
    return find_all(align(read(statement), read(known)))


def find_all(alignment: Alignment) -> tuple[Finding, ...]:
    """Returns what differs between two aligned statements whose text keys differ; see :func:`detect`."""
    both_readable = alignment.statement.statement.readable and alignment.known.statement.readable
    detectors = _ALWAYS + _ENGLISH if both_readable else _ALWAYS
    found = [finding for detector in detectors for finding in detector(alignment)]
    if swapped_by_inverse(alignment):
        found = [finding for finding in found if finding.kind not in _INVERTED]
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: _ORDER[finding.kind]))


def readable(statement: str, known: str) -> bool:
    """Whether the English detectors could read both texts; where they could not, silence means nothing."""
    return read(statement).readable and read(known).readable
