"""Lists of facts: what a filter selects, in which order, and page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from concord_server.domain.enums import FactChange, FactStatus, FactType, SubjectRole
from concord_server.domain.errors import InvalidFieldsError, InvalidPageTokenError
from concord_server.domain.model import ContentLink, EntityRef, Fact, Partition
from concord_server.domain.queries import ORDERABLE_FIELDS, Cursor, FactFilter, FactOrder
from concord_server.ports.ledger import WriteSession
from concord_server.storage.sessions import PostgresLedger
from uuid_utils.compat import uuid7

from tests.support.facts import NOON, a_claim, a_fact, minutes, next_version, save

S = FactStatus
ANYTHING = FactFilter()
NEWEST = FactOrder()
ADA = EntityRef("person", "ada")


async def listed(
    ledger: PostgresLedger,
    project: str,
    where: FactFilter = ANYTHING,
    order: FactOrder = NEWEST,
) -> list[str]:
    """Returns the texts of all facts that match."""
    async with ledger.read(project) as session:
        page = await session.facts.list(where, order, after=None, size=100)
    assert page.total == len(page.items)
    assert page.next is None
    return [fact.text for fact in page.items]


async def save_named(session: WriteSession, **facts: dict[str, Any]) -> dict[str, Fact]:
    """Stores facts that are named by their texts, each a minute after the one before."""
    return {
        name: await save(
            session, a_fact(**{"text": name, "create_time": NOON + minutes(n), "valid_from": NOON, **fields})
        )
        for n, (name, fields) in enumerate(facts.items())
    }


class TestFilters:
    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ({}, "owned scoped opinion billing plain"),
            ({"domain": "billing"}, "billing"),
            ({"domain": ""}, "owned scoped opinion billing plain"),
            ({"access_scope": "team"}, "scoped"),
            ({"access_scope": ""}, "owned opinion billing plain"),
            ({"access_scope": "nobody"}, ""),
            ({"types": (FactType.OPINION,)}, "opinion"),
            ({"types": (FactType.OPINION, FactType.ASSERTION)}, "owned scoped opinion billing plain"),
            ({"owner": ADA}, "owned"),
            ({"entity": ADA}, "owned scoped plain"),
            ({"entity": EntityRef("person", "ada", SubjectRole.SOURCE)}, "owned scoped plain"),
            ({"entity": EntityRef("city", "ada")}, ""),
            ({"entity": EntityRef("ada", "person")}, ""),
            ({"content_id": "doc"}, "billing"),
            ({"tag": "red"}, "opinion plain"),
            ({"tag": "re"}, ""),
            ({"predicate": "favorite_color"}, "scoped"),
            ({"min_confidence": 0.8}, "opinion billing"),
            ({"min_confidence": 0.8, "tag": "red"}, "opinion"),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("known_at", [None, NOON + minutes(60)], ids=["now", "as known"])
    async def test_a_filter_selects_what_it_says(
        self,
        ledger: PostgresLedger,
        project: str,
        where: dict[str, Any],
        expected: str,
        known_at: datetime | None,
    ) -> None:
        async with ledger.write(project) as session:
            await save_named(
                session,
                plain={"subjects": (ADA,), "tags": ("blue", "red")},
                billing={
                    "partition": Partition(domain="billing"),
                    "confidence": 0.8,
                    "contents": (ContentLink("doc"),),
                },
                opinion={"partition": Partition(type=FactType.OPINION), "confidence": 0.9, "tags": ("red",)},
                scoped={
                    "partition": Partition(access_scope="team"),
                    "claim": a_claim(),
                    "subjects": (replace(ADA, role=SubjectRole.OBJECT),),
                },
                owned={"partition": Partition(owner_type="person", owner_id="ada")},
                erased={"status": S.DELETED, "text": "", "subjects": (ADA,), "tags": ("red",)},
            )
        assert await listed(ledger, project, FactFilter(**where, known_at=known_at)) == expected.split()

    async def test_erased_facts_are_listed_only_if_asked_for(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            await save_named(session, **{status.value: {"status": status} for status in S})
        assert await listed(ledger, project) == [status.value for status in reversed(S) if status is not S.DELETED]
        for status in S:
            assert await listed(ledger, project, FactFilter(statuses=(status,))) == [status.value]
        both = FactFilter(statuses=(S.DELETED, S.ACTIVE))
        assert await listed(ledger, project, both) == ["DELETED", "ACTIVE"]

    async def test_another_projects_facts_are_not_listed(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(f"{project}-other") as session:
            await save(session, a_fact())
        assert await listed(ledger, project) == []

    async def test_a_listed_fact_is_whole(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            fact = await save(session, a_fact(tags=("b", "a"), subjects=(ADA,), claim=a_claim()))
        for known_at in (None, NOON):
            async with ledger.read(project) as session:
                page = await session.facts.list(FactFilter(known_at=known_at), NEWEST, after=None, size=5)
            assert list(page.items) == [fact]


class TestAsOf:
    """Valid time."""

    @pytest.mark.parametrize(
        ("moment", "expected"),
        [
            (NOON - timedelta(microseconds=1), ""),
            (NOON, "ended open"),
            (NOON + minutes(10) - timedelta(microseconds=1), "ended open"),
            (NOON + minutes(10), "open"),
        ],
    )
    async def test_an_interval_is_closed_at_its_start_and_open_at_its_end(
        self, ledger: PostgresLedger, project: str, moment: datetime, expected: str
    ) -> None:
        async with ledger.write(project) as session:
            await save_named(
                session,
                open={"valid_from": NOON},
                ended={"valid_from": NOON, "valid_to": NOON + minutes(10), "status": S.SUPERSEDED},
                never={"valid_from": NOON, "valid_to": NOON, "status": S.SUPERSEDED},
            )
        assert await listed(ledger, project, FactFilter(as_of=moment)) == expected.split()

    async def test_what_is_on_no_timeline_held_at_no_time(self, ledger: PostgresLedger, project: str) -> None:
        conflict_id = uuid7()
        async with ledger.write(project) as session:
            held = await session.partitions.lock(Partition(), NOON)
            await session.conflicts.open(conflict_id, uuid7(), held.partition_id, "", NOON)
            await save_named(
                session,
                active={},
                superseded={"status": S.SUPERSEDED},
                disputed={"status": S.DISPUTED},
                unsupported={"status": S.DISPUTED, "off_timeline": True},
                scheduled={"status": S.PENDING},
                challenger={"status": S.PENDING, "conflict_id": conflict_id},
                incumbent={"conflict_id": conflict_id},
                retracted={"status": S.RETRACTED},
                archived={"status": S.ARCHIVED},
                erased={"status": S.DELETED},
            )

        async def held_at_noon(*statuses: FactStatus) -> list[str]:
            return await listed(ledger, project, FactFilter(as_of=NOON, statuses=statuses))

        assert await held_at_noon() == ["incumbent", "scheduled", "disputed", "superseded", "active"]
        assert await held_at_noon(S.RETRACTED, S.ARCHIVED) == ["archived", "retracted"]
        assert await held_at_noon(S.DISPUTED) == ["disputed"]
        assert await held_at_noon(S.PENDING) == ["challenger", "scheduled"]


class TestKnownAt:
    """Recorded time."""

    async def test_every_row_is_read_as_it_was_recorded_then(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            first = await save(session, a_fact(text="said", tags=("a",), subjects=(ADA,)))
        second = next_version(first, status=S.RETRACTED, tags=(), subjects=(), confidence=0.1)
        async with ledger.write(project) as session:
            second = await save(session, second, FactChange.STATUS_CHANGED)

        async def known(moment: datetime, **where: Any) -> list[Fact]:
            async with ledger.read(project) as session:
                filtered = FactFilter(known_at=moment, **where)
                return list((await session.facts.list(filtered, NEWEST, after=None, size=5)).items)

        tick = timedelta(microseconds=1)
        assert await known(first.update_time - tick) == []
        assert await known(first.update_time) == [first]
        assert await known(second.update_time - tick) == [first]
        assert await known(second.update_time) == [second]
        assert await known(second.update_time - tick, tag="a", entity=ADA) == [first]
        assert await known(second.update_time, tag="a") == []
        assert await known(second.update_time, entity=ADA) == []

    async def test_both_times_together_say_what_was_thought_to_have_held(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            first = await save(session, a_fact(text="said", valid_from=NOON))
        ended = next_version(first, status=S.SUPERSEDED, valid_to=NOON + minutes(5))
        async with ledger.write(project) as session:
            ended = await save(session, ended, FactChange.STATUS_CHANGED)
        for known_at, expected in ((first.update_time, ["said"]), (ended.update_time, [])):
            where = FactFilter(as_of=NOON + minutes(10), known_at=known_at)
            assert await listed(ledger, project, where) == expected

    async def test_what_was_erased_since_is_not_served_as_it_was(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            first = await save(session, a_fact())
        async with ledger.write(project) as session:
            gone = await save(session, next_version(first, status=S.DELETED), FactChange.ERASED)
            await session.facts.erase(first.fact_id)
        assert await listed(ledger, project, FactFilter(known_at=first.update_time)) == []
        receipt = FactFilter(known_at=gone.update_time, statuses=(S.DELETED,))
        assert await listed(ledger, project, receipt) == [""]


class TestPages:
    @pytest.mark.parametrize("descending", [True, False])
    @pytest.mark.parametrize("field", ORDERABLE_FIELDS)
    @pytest.mark.parametrize("known_at", [None, NOON + minutes(60)], ids=["now", "as known"])
    async def test_pages_neither_skip_nor_repeat_where_values_are_equal(
        self, ledger: PostgresLedger, project: str, field: str, known_at: datetime | None, *, descending: bool
    ) -> None:
        tick = timedelta(microseconds=1)
        async with ledger.write(project) as session:
            facts = [
                a_fact(
                    text=f"fact {n}",
                    create_time=NOON + tick * (n // 3),
                    update_time=NOON + tick * (n // 2),
                    valid_from=NOON - tick * (n // 4),
                    confidence=0.1 * 3 if n % 3 else 0.3,
                )
                for n in range(10)
            ]
            for fact in facts:
                await save(session, fact)
        order = FactOrder(field, descending=descending)
        seen: list[Fact] = []
        after: Cursor | None = None
        async with ledger.read(project) as session:
            while True:
                page = await session.facts.list(FactFilter(known_at=known_at), order, after=after, size=3)
                assert page.total == 10
                seen += page.items
                after = page.next
                if after is None:
                    break
        expected = sorted(facts, key=lambda fact: (getattr(fact, field), fact.fact_id), reverse=descending)
        assert [fact.fact_id for fact in seen] == [fact.fact_id for fact in expected]

    async def test_a_page_that_is_just_full_is_the_last(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.write(project) as session:
            for n in range(2):
                await save(session, a_fact(text=f"{n}"))
        async with ledger.read(project) as session:
            page = await session.facts.list(FactFilter(), NEWEST, after=None, size=2)
        assert (len(page.items), page.next, page.total) == (2, None, 2)

    async def test_facts_that_come_in_between_do_not_shift_later_pages(
        self, ledger: PostgresLedger, project: str
    ) -> None:
        async with ledger.write(project) as session:
            made = await save_named(session, first={}, second={})
        async with ledger.read(project) as session:
            page = await session.facts.list(FactFilter(), NEWEST, after=None, size=1)
        async with ledger.write(project) as session:
            await save(session, a_fact(create_time=NOON + minutes(9)))
        async with ledger.read(project) as session:
            following = await session.facts.list(FactFilter(), NEWEST, after=page.next, size=1)
        assert (list(page.items), list(following.items)) == ([made["second"]], [made["first"]])

    @pytest.mark.parametrize(
        ("field", "value"),
        [("confidence", NOON.isoformat()), ("create_time", "0.5"), ("create_time", ""), ("confidence", "")],
    )
    async def test_a_position_of_another_order_is_refused(
        self, ledger: PostgresLedger, project: str, field: str, value: str
    ) -> None:
        async with ledger.read(project) as session:
            with pytest.raises(InvalidPageTokenError):
                await session.facts.list(FactFilter(), FactOrder(field), after=Cursor(value, uuid7()), size=1)

    async def test_an_order_by_anything_else_is_refused(self, ledger: PostgresLedger, project: str) -> None:
        async with ledger.read(project) as session:
            with pytest.raises(InvalidFieldsError):
                await session.facts.list(FactFilter(), FactOrder("text"), after=None, size=1)
