from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from concord_server.domain.enums import ObservationAction, Trend
from concord_server.domain.model import Fact
from concord_server.domain.observation_folding import Twin, fold
from concord_server.domain.observations import basis_of, group_of, trend
from concord_server.domain.observing import (
    BATCH_SIZE,
    Answer,
    Change,
    Create,
    Merge,
    Plan,
    Pool,
    Refused,
    Retire,
    Update,
    batches,
    halves,
    plan,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.observing.values import NOW, at, fact, observation, retagged

OLD, NEW, NEWER = fact(1, day=0), fact(2, day=10), fact(3, day=11)
KNOWN = observation(101, "known", OLD)
OTHER = observation(102, "other", fact(4), fact(5))
POOL = Pool((NEW, NEWER), (OLD,), (KNOWN, OTHER))
CREATED, UPDATED = ObservationAction.CREATED, ObservationAction.UPDATED
MERGED, RETIRED = ObservationAction.MERGED, ObservationAction.RETIRED
STRANGE = UUID(int=999)


def why(planned: Plan) -> list[Refused]:
    return [refusal.why for refusal in planned.refusals]


class TestGroups:
    def test_tags_are_a_set(self):
        one, other = retagged(OLD, "b", "a"), retagged(OLD, "a", "b")
        assert group_of(one).group_id == group_of(other).group_id

    def test_an_untagged_fact_is_in_a_group_of_its_own(self):
        assert len({group_of(each).group_id for each in (OLD, retagged(OLD, "a"), retagged(OLD, "a", "b"))}) == 3

    def test_ids_follow_from_the_fields_and_their_places(self):
        assert group_of(retagged(OLD, "User")).group_id != group_of(OLD).group_id

    def test_a_basis_changes_with_what_may_make_it_wrong_alone(self):
        assert basis_of(replace(OLD, source_count=9, confidence=0.1, valid_from=NOW, version=7)) == basis_of(OLD)
        for changed in (
            replace(OLD, text="x"),
            replace(OLD, value_key="x"),
            replace(OLD, valid_to=NOW),
            retagged(OLD, "x"),
        ):
            assert basis_of(changed) != basis_of(OLD)


class TestBatches:
    @pytest.mark.parametrize(("facts", "calls"), [(0, 0), (1, 1), (8, 1), (9, 2), (100, 13), (400, 50)])
    def test_they_are_filled_to_the_brim(self, facts, calls):
        ids = [UUID(int=n) for n in range(facts)]
        made = batches(ids)
        assert len(made) == calls
        assert [each for batch in made for each in batch] == ids
        assert all(len(batch) == BATCH_SIZE for batch in made[:-1])

    @given(st.integers(2, BATCH_SIZE))
    def test_halving_ends_at_single_facts_and_loses_none(self, size):
        facts = [fact(n + 1) for n in range(size)]

        def leaves(batch: Sequence[Fact]) -> list[Fact]:
            return [batch[0]] if len(batch) == 1 else [leaf for half in halves(batch) for leaf in leaves(half)]

        assert leaves(facts) == facts


class TestPlanning:
    def test_a_creation_rests_on_what_was_shown(self):
        planned = plan(POOL, Answer(creates=(Create(" text ", (STRANGE, NEW.fact_id, NEW.fact_id), "why"),)))
        assert planned.changes == (Change(CREATED, None, "text", (NEW.fact_id,), reason="why"),)

    @pytest.mark.parametrize(
        ("create", "reason"),
        [
            (Create("text", (STRANGE,)), Refused.NO_EVIDENCE),
            (Create("text", ()), Refused.NO_EVIDENCE),
            (Create("  ", (NEW.fact_id,)), Refused.INVALID_TEXT),
            (Create("…", (NEW.fact_id,)), Refused.INVALID_TEXT),
            (Create("a\x00", (NEW.fact_id,)), Refused.INVALID_TEXT),
            (Create("\ud800a", (NEW.fact_id,)), Refused.INVALID_TEXT),
        ],
    )
    def test_a_creation_that_says_or_rests_on_nothing_is_refused(self, create, reason):
        planned = plan(POOL, Answer(creates=(create,)))
        assert (planned.changes, why(planned)) == ((), [reason])

    @pytest.mark.parametrize(
        ("update", "reason"),
        [
            (Update(STRANGE, "text", (NEW.fact_id,)), Refused.UNKNOWN_OBSERVATION),
            (Update(KNOWN.observation_id, "text", (STRANGE,)), Refused.NO_EVIDENCE),
            (Update(KNOWN.observation_id, "", (NEW.fact_id,)), Refused.INVALID_TEXT),
            (Update(KNOWN.observation_id, "known", (OLD.fact_id,)), Refused.UNCHANGED),
        ],
    )
    def test_an_update_must_be_of_something_known_and_bring_something(self, update, reason):
        planned = plan(POOL, Answer(updates=(update,)))
        assert (planned.changes, why(planned)) == ((), [reason])

    def test_updates_of_one_observation_are_one_with_the_last_wording(self):
        updates = (
            Update(KNOWN.observation_id, "one", (NEW.fact_id,)),
            Update(KNOWN.observation_id, "two", (NEWER.fact_id,)),
        )
        [change] = plan(POOL, Answer(updates=updates)).changes
        assert (change.text, change.fact_ids) == ("two", (NEW.fact_id, NEWER.fact_id))

    @pytest.mark.parametrize(("day", "late"), [(-1, True), (0, False), (1, False)])
    def test_an_update_from_older_facts_alone_is_late(self, day, late):
        given_fact = fact(7, day=day)
        pool = Pool((given_fact,), (OLD,), (KNOWN,))
        [change] = plan(pool, Answer(updates=(Update(KNOWN.observation_id, "x", (given_fact.fact_id,)),))).changes
        assert change.is_late is late

    def test_more_support_for_the_same_wording_is_never_late(self):
        older = fact(7, day=-1)
        pool = Pool((older,), (OLD,), (KNOWN,))
        [change] = plan(pool, Answer(updates=(Update(KNOWN.observation_id, "Known.", (older.fact_id,)),))).changes
        assert not change.is_late

    def test_judging_its_own_facts_again_is_never_late(self):
        both = observation(101, "known", fact(7, day=-1), NEW)
        pool = Pool((fact(7, day=-1),), (), (both,))
        answer = Answer(retires=(Retire(both.observation_id, "why"),))
        assert [change.action for change in plan(pool, answer).changes] == [RETIRED]

    def test_a_merge_keeps_the_best_supported(self):
        ids = (KNOWN.observation_id, OTHER.observation_id, STRANGE)
        [change] = plan(POOL, Answer(merges=(Merge(ids, "both", "why"),))).changes
        assert change == Change(MERGED, OTHER.observation_id, "both", (), (KNOWN.observation_id,), "why")

    def test_a_merge_takes_the_updates_of_its_members_along(self):
        answer = Answer(
            updates=(Update(KNOWN.observation_id, "x", (NEW.fact_id,)),),
            merges=(Merge((KNOWN.observation_id, OTHER.observation_id), "both"),),
        )
        [change] = plan(POOL, answer).changes
        assert (change.action, change.fact_ids) == (MERGED, (NEW.fact_id,))

    def test_a_merge_of_fewer_than_two_is_refused(self):
        merges = (Merge((KNOWN.observation_id, KNOWN.observation_id, STRANGE), "x"), Merge((), "x"))
        assert why(plan(POOL, Answer(merges=merges))) == [Refused.TOO_FEW, Refused.TOO_FEW]

    def test_updates_and_merges_win_over_retirements(self):
        answer = Answer(
            updates=(Update(KNOWN.observation_id, "x", (NEW.fact_id,)),), retires=(Retire(KNOWN.observation_id),)
        )
        planned = plan(POOL, answer)
        assert [change.action for change in planned.changes] == [UPDATED]
        assert why(planned) == [Refused.UPDATED_ANYWAY]


class TestFolding:
    def test_of_two_new_ones_the_first_stays_with_all_sources(self):
        planned = Plan((Change(CREATED, None, "a", (NEW.fact_id,)), Change(CREATED, None, "b", (NEWER.fact_id,))))
        assert fold(planned, [Twin(1, 0)], {}).changes == (
            Change(CREATED, None, "a", (NEW.fact_id, NEWER.fact_id)),
        )

    def test_a_chain_of_twins_is_one(self):
        planned = Plan(tuple(Change(CREATED, None, str(n), (UUID(int=n),)) for n in range(4)))
        [change] = fold(planned, [Twin(1, 0), Twin(2, 1), Twin(3, 2), Twin(3, 0)], {}).changes
        assert change.fact_ids == tuple(UUID(int=n) for n in range(4))

    def test_a_new_one_becomes_an_update_of_its_stored_twin(self):
        planned = Plan((Change(CREATED, None, "a", (NEW.fact_id,)),))
        [change] = fold(planned, [Twin(0, KNOWN.observation_id)], {KNOWN.observation_id: KNOWN}).changes
        assert (change.action, change.observation_id, change.text) == (UPDATED, KNOWN.observation_id, "a")

    def test_two_new_ones_with_the_same_stored_twin_are_one_update(self):
        planned = Plan((Change(CREATED, None, "a", (NEW.fact_id,)), Change(CREATED, None, "b", (NEWER.fact_id,))))
        twins = [Twin(0, KNOWN.observation_id), Twin(1, KNOWN.observation_id)]
        [change] = fold(planned, twins, {KNOWN.observation_id: KNOWN}).changes
        assert (change.observation_id, change.fact_ids) == (KNOWN.observation_id, (NEW.fact_id, NEWER.fact_id))

    def test_an_update_absorbs_the_stored_twin_of_its_new_wording(self):
        planned = Plan((Change(UPDATED, KNOWN.observation_id, "a", (NEW.fact_id,)),))
        [change] = fold(planned, [Twin(0, OTHER.observation_id)], {OTHER.observation_id: OTHER}).changes
        assert (change.action, change.absorbed) == (MERGED, (OTHER.observation_id,))

    def test_what_would_be_retired_but_has_a_twin_is_updated(self):
        planned = Plan(
            (Change(RETIRED, KNOWN.observation_id, "known"), Change(CREATED, None, "a", (NEW.fact_id,)))
        )
        twins = [Twin(1, KNOWN.observation_id), Twin(1, 0)]
        [change] = fold(planned, twins, {KNOWN.observation_id: KNOWN}).changes
        assert (change.action, change.observation_id) == (UPDATED, KNOWN.observation_id)


_IDS = st.sampled_from([each.fact_id for each in (OLD, NEW, NEWER)] + [STRANGE])
_OBSERVATIONS = st.sampled_from([KNOWN.observation_id, OTHER.observation_id, STRANGE])
_TEXTS = st.sampled_from(["known", "x", "y", "", "…"])
_ANSWERS = st.builds(
    Answer,
    creates=st.lists(st.builds(Create, _TEXTS, st.lists(_IDS).map(tuple)), max_size=3).map(tuple),
    updates=st.lists(st.builds(Update, _OBSERVATIONS, _TEXTS, st.lists(_IDS).map(tuple)), max_size=3).map(tuple),
    merges=st.lists(st.builds(Merge, st.lists(_OBSERVATIONS).map(tuple), _TEXTS), max_size=3).map(tuple),
    retires=st.lists(st.builds(Retire, _OBSERVATIONS), max_size=3).map(tuple),
)


def _named(changes: Iterable[Change]) -> list[UUID]:
    return [
        each
        for change in changes
        for each in (*([change.observation_id] if change.observation_id else []), *change.absorbed)
    ]


@given(_ANSWERS, st.data())
def test_whatever_is_answered_a_plan_names_only_what_was_shown_and_each_observation_once(answer, data):
    planned = plan(POOL, answer)
    stored = POOL.by_id
    count = len(planned.changes)
    others = [*range(count), *stored]
    twins = [
        Twin(index, other)
        for index in range(count)
        for other in data.draw(st.lists(st.sampled_from(others), max_size=2, unique=True))
        if not isinstance(other, int) or other < index
    ]
    for each in (planned, fold(planned, twins, stored)):
        named = _named(each.changes)
        assert len(named) == len(set(named))
        assert set(named) <= set(stored)
        for change in each.changes:
            assert set(change.fact_ids) <= set(POOL.facts)
            assert (change.action is CREATED) == (change.observation_id is None)
            assert change.fact_ids or change.action in {RETIRED, MERGED}
    kept = {fact_id for change in planned.changes for fact_id in change.fact_ids}
    folded = {fact_id for change in fold(planned, twins, stored).changes for fact_id in change.fact_ids}
    assert folded == kept


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([], Trend.STALE),
        ([181], Trend.STALE),
        ([180], Trend.WEAKENING),
        ([1], Trend.STRENGTHENING),
        ([1, 61], Trend.STABLE),
        ([1, 2, 61], Trend.STRENGTHENING),
        ([1, 61, 70], Trend.WEAKENING),
        ([61], Trend.WEAKENING),
        ([130, 140], Trend.WEAKENING),
        ([0, 400], Trend.STRENGTHENING),
    ],
)
def test_trends_compare_the_last_sixty_days_with_those_before(days, expected):
    assert trend(at(days), NOW) is expected
