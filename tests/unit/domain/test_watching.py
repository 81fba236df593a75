from __future__ import annotations

import pytest
from concord_server.domain.enums import FactChange, SubjectRole
from concord_server.domain.errors import SequenceNotKeptError
from concord_server.domain.model import EntityRef, Partition
from concord_server.domain.watching import LogBounds, WatchFilter

from tests.support.watching import a_change

CHANGE = a_change(
    1,
    FactChange.MERGED,
    partition=Partition("private", "ops", owner_type="Team", owner_id="red"),
    subjects=(EntityRef("User", "u1", SubjectRole.OBJECT),),
)


@pytest.mark.parametrize(
    ("where", "admitted"),
    [
        (WatchFilter(), True),
        (WatchFilter(domain="ops"), True),
        (WatchFilter(domain="op"), False),
        (WatchFilter(access_scope="private"), True),
        (WatchFilter(access_scope=""), False),
        (WatchFilter(changes=frozenset({FactChange.MERGED, FactChange.ERASED})), True),
        (WatchFilter(changes=frozenset({FactChange.CREATED})), False),
        (WatchFilter(entity=EntityRef("User", "u1", SubjectRole.LOCATION)), True),
        (WatchFilter(entity=EntityRef("Team", "red")), True),
        (WatchFilter(entity=EntityRef("Team", "u1")), False),
        (WatchFilter("ops", EntityRef("User", "u1"), frozenset({FactChange.MERGED}), "private"), True),
        (WatchFilter("ops", EntityRef("User", "u1"), frozenset({FactChange.MERGED}), "public"), False),
    ],
)
def test_a_filter_admits_what_fits_all_of_its_fields(where: WatchFilter, admitted: bool) -> None:
    assert where.admits(CHANGE) is admitted


@pytest.mark.parametrize("after", [4, 5, 9])
def test_a_position_within_what_is_kept_is_good(after: int) -> None:
    LogBounds(pruned=4, last=9).require(after)


@pytest.mark.parametrize(("after", "message"), [(3, "kept from 5 on"), (0, "kept from 5 on"), (10, "ends at 9")])
def test_a_position_before_or_beyond_it_is_refused(after: int, message: str) -> None:
    with pytest.raises(SequenceNotKeptError, match=message):
        LogBounds(pruned=4, last=9).require(after)


def test_a_log_that_was_never_written_begins_at_zero() -> None:
    LogBounds(0, 0).require(0)
