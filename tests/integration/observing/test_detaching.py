"""What an observation rests on goes: it is taken off at once, whatever made it go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateAction, FactStatus, ObservationAction, ObservationState
from concord_server.domain.events import EventCandidate, NewEvent
from concord_server.domain.model import EntityRef, Fact
from concord_server.domain.observations import Observation
from concord_server.storage.fact_tables import facts as facts_table
from concord_server.storage.observation_tables import observation_sources
from concord_server.storage.tables import metadata
from sqlalchemy import delete, func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.support.observing import EXTRACT, NOTHING, Observatory, create, update
from tests.support.runs import DAY, START

_GONE = (FactStatus.DISPUTED, FactStatus.RETRACTED, FactStatus.ARCHIVED, FactStatus.DELETED)
RETIRED = ObservationState.RETIRED
WORD = "zanzibar"


async def formed(there: Observatory, text: str, facts: list[Fact]) -> Observation:
    """Lets facts become one observation."""
    there.model.reply = lambda data: {"creates": [create(text, *data["new_facts"])]}
    await there.observe()
    [observation] = [each for each in await there.believed() if each.text == text]
    assert observation.proof_count == len(facts)
    there.model.reply = lambda _: NOTHING
    return observation


async def supersede(there: Observatory, fact: Fact) -> None:
    assert fact.claim is not None
    claim = ClaimInput(fact.claim.subject, fact.claim.predicate, "something else")
    candidate = EventCandidate(claim, action=CandidateAction.SUPERSEDE)
    await there.append(NewEvent(EntityRef("User", "u1"), occur_time=START + 50 * DAY, candidates=(candidate,)))
    await there.worked(scope=EXTRACT)


async def retag(there: Observatory, fact: Fact) -> None:
    await there.edit(fact, tags=("other",))


async def end(there: Observatory, fact: Fact) -> None:
    await there.edit(fact, valid_to=fact.valid_from + DAY)


def to(status: FactStatus) -> Callable[[Observatory, Fact], Awaitable[None]]:
    async def moved(there: Observatory, fact: Fact) -> None:
        await there.move(fact, status)

    return moved


WAYS = {
    "superseded": supersede,
    "edited, another group": retag,
    "edited, its end": end,
    **{status.value.lower(): to(status) for status in _GONE},
}


@pytest.mark.parametrize("way", WAYS)
async def test_it_is_detached_at_once_and_the_rest_is_recounted(there: Observatory, way):
    facts = await there.tell("sails", "dives", "rows")
    observation = await formed(there, "likes the sea", facts)
    await WAYS[way](there, facts[2])
    [now] = await there.believed()
    assert now.observation_id == observation.observation_id
    assert [each.fact_id for each in now.support] == [facts[0].fact_id, facts[1].fact_id]
    assert (now.first_time, now.last_time) == (facts[0].valid_from, facts[1].valid_from)
    version = (await there.history(now.observation_id))[-1]
    assert (version.action, version.run_id) == (ObservationAction.UPDATED, None)
    assert version.reason == f"what it rests on was {way.partition(',')[0].replace('deleted', 'erased')}"


@pytest.mark.parametrize("way", WAYS)
async def test_without_support_it_is_retired_and_not_deleted(there: Observatory, way):
    facts = await there.tell("sails", "dives")
    observation = await formed(there, "likes the sea", facts)
    for fact in facts:
        await WAYS[way](there, fact)
    assert await there.believed() == []
    [retired] = await there.believed(RETIRED)
    assert (retired.observation_id, retired.proof_count, retired.first_time) == (
        observation.observation_id,
        0,
        None,
    )
    first = (await there.history(retired.observation_id))[0]
    assert {each.fact_id for each in first.observation.support} == {
        fact.fact_id for fact in facts
    } or way == "deleted"


async def test_corroboration_and_other_edits_detach_nothing(there: Observatory):
    facts = await there.tell("sails", "dives")
    observation = await formed(there, "likes the sea", facts)
    await there.tell("sails", day=4)
    await there.edit(facts[1], metadata={"note": "x"}, corroboration_score=0.5)
    assert await there.believed() == [observation]
    assert (await there.observe()).observe.total == 0


async def test_a_start_that_moves_moves_the_period(there: Observatory):
    facts = await there.tell("sails", "dives")
    await formed(there, "likes the sea", facts)
    await there.edit(facts[0], valid_from=START - 9 * DAY)
    [observation] = await there.believed()
    assert (observation.proof_count, observation.first_time) == (2, START - 9 * DAY)


async def test_only_what_may_have_become_wrong_is_judged_again(there: Observatory):
    sea = await there.tell("sails", "dives")
    one = await formed(there, "likes the sea", sea)
    hills = await there.tell("climbs", "skis", day=5)
    await formed(there, "likes the hills", hills)
    asked = len(there.model.asked)
    await there.move(sea[1], FactStatus.RETRACTED)
    there.model.reply = lambda data: {
        "updates": [
            update(each, "sails", *data["new_facts"]) for each in data["observations"] if each["text"] == one.text
        ]
    }
    summary = await there.observe()
    assert summary.observe.total == 1
    [question] = there.model.questions[asked:]
    assert [fact["id"] for fact in question["new_facts"]] == [str(sea[0].fact_id)]
    assert sorted(await there.texts()) == ["likes the hills", "sails"]


async def test_what_is_judged_again_after_one_change_is_one_batch(there: Observatory):
    facts = await there.tell(*(f"v{n}" for n in range(20)))
    # Equal wordings are twins: every batch adds to the same observation.
    there.model.reply = lambda data: {"creates": [create("a", *data["new_facts"])]}
    await there.observe()
    async with there.engine.begin() as connection:
        own = observation_sources.c.project_id == there.project
        rows = (await connection.execute(select(observation_sources.c.observation_id).where(own))).all()
    assert len({row.observation_id for row in rows}) == 1
    await there.move(facts[0], FactStatus.RETRACTED)
    there.model.reply = lambda _: NOTHING
    assert (await there.observe()).observe.total == 8


async def test_a_fact_that_comes_back_is_considered_anew(there: Observatory):
    facts = await there.tell("sails", "dives")
    await formed(there, "likes the sea", facts)
    await there.move(facts[0], FactStatus.DISPUTED)
    await there.move(facts[0], FactStatus.ACTIVE)
    await there.observe()
    asked = {fact["id"] for fact in there.model.questions[-1]["new_facts"]}
    assert str(facts[0].fact_id) in asked


async def test_every_delete_path_is_covered_by_the_database(there: Observatory):
    facts = await there.tell("sails", "dives")
    await formed(there, "likes the sea", facts)
    async with there.engine.begin() as connection:
        await _delete(connection, facts[0])
    [observation] = await there.believed()
    assert [each.fact_id for each in observation.support] == [facts[1].fact_id]


async def _delete(connection: AsyncConnection, fact: Fact) -> None:
    """Deletes a fact and what hangs on it as somebody would who knows nothing of observations."""
    for table in reversed(metadata.sorted_tables):
        for key in table.foreign_key_constraints:
            if key.referred_table.name == "facts" and key.ondelete is None:
                [column] = [table.c[name] for name in key.column_keys if name != "project_id"]
                await connection.execute(delete(table).where(column == fact.fact_id))
    await connection.execute(delete(facts_table).where(facts_table.c.fact_id == fact.fact_id))


async def rows_with(there: Observatory, word: str) -> list[str]:
    """The tables in which a row of the project has the word."""
    found = []
    async with there.engine.connect() as connection:
        for table in metadata.sorted_tables:
            if "project_id" not in table.c:
                continue
            row = func.to_jsonb(literal_column(f'"{table.name}"'))
            query = select(row).select_from(table).where(table.c.project_id == there.project)
            if any(word in str(document) for (document,) in await connection.execute(query)):
                found.append(table.name)
    return found


class TestErasing:
    """Wording that rested on erased text is blanked, in every version and in what runs tell."""

    async def test_nothing_of_it_is_left(self, there: Observatory):
        fact, other = await there.tell(WORD, "dives")
        there.model.reply = lambda data: {
            "creates": [create(f"likes {WORD}", *data["new_facts"], reason=f"{WORD} twice")]
        }
        await there.observe()
        assert {"observations", "observation_versions"} <= set(await rows_with(there, WORD))
        await there.move(fact, FactStatus.DELETED)
        assert set(await rows_with(there, WORD)) <= {"events"}
        [observation] = await there.believed()
        assert (observation.text, [s.fact_id for s in observation.support]) == ("", [other.fact_id])
        assert {v.observation.text for v in await there.history(observation.observation_id)} == {""}

    async def test_also_where_it_was_detached_before(self, there: Observatory):
        fact, _ = await there.tell(WORD, "dives")
        await formed(there, f"likes {WORD}", [fact, _])
        await there.move(fact, FactStatus.RETRACTED)
        await there.move(fact, FactStatus.DELETED)
        assert set(await rows_with(there, WORD)) <= {"events"}

    async def test_also_where_it_was_retired_or_merged_before(self, there: Observatory):
        [fact] = await there.tell(WORD)
        await formed(there, f"likes {WORD}", [fact])
        [other] = await there.tell("dives", day=5)
        await formed(there, "dives", [other])
        await there.tell("rows", day=9)
        await there.recall_all()
        there.model.reply = lambda data: {
            "merges": [{"observation_ids": [o["id"] for o in data["observations"]], "text": f"dives at {WORD}"}]
        }
        await there.observe()
        assert await there.texts() == [f"dives at {WORD}"]
        await there.move(fact, FactStatus.DELETED)
        assert set(await rows_with(there, WORD)) <= {"events"}

    async def test_wording_from_before_the_fact_stays(self, there: Observatory):
        [first] = await there.tell("dives")
        await formed(there, "likes the sea", [first])
        [fact] = await there.tell(WORD, day=5)
        await there.recall_all()
        there.model.reply = lambda data: {
            "updates": [update(data["observations"][0], f"likes {WORD}", *data["new_facts"])]
        }
        await there.observe()
        await there.move(fact, FactStatus.DELETED)
        [observation] = await there.believed()
        wordings = [v.observation.text for v in await there.history(observation.observation_id)]
        assert wordings == ["likes the sea", "", ""]

    async def test_it_is_worded_anew_from_what_is_left(self, there: Observatory):
        facts = await there.tell(WORD, "dives")
        await formed(there, f"likes {WORD}", facts)
        await there.move(facts[0], FactStatus.DELETED)
        there.model.reply = lambda data: {
            "updates": [update(data["observations"][0], "dives", *data["new_facts"])]
        }
        await there.observe()
        assert await there.texts() == ["dives"]
        assert "erased" in there.model.questions[-1]["observations"][0]["text"]
