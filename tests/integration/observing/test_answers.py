"""What a model's answers do to observations, on a real Postgres: one scenario for each kind of answer."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from concord_server.domain.enums import FactStatus, ObservationAction, ObservationState, RunState
from concord_server.domain.judgement import Relation
from concord_server.domain.model import EntityRef
from concord_server.domain.runs import RunScope

from tests.support.observing import NOTHING, OBSERVE, Observatory, create, update

ACTIVE, RETIRED = ObservationState.ACTIVE, ObservationState.RETIRED
LIKES = "u1 likes the sea"


async def formed(there: Observatory, text: str, *values: str, day: int = 0, **event: Any) -> Any:
    """Lets facts become one observation, and returns it."""
    await there.tell(*values, day=day, **event)
    there.model.reply = lambda data: {"creates": [create(text, *data["new_facts"])]}
    await there.observe()
    [found] = [each for each in await there.believed() if each.text == text]
    return found


async def test_facts_become_an_observation_with_its_evidence_and_its_period(there: Observatory):
    first, second = await there.tell("sails", "dives")
    there.model.reply = lambda data: {"creates": [create(LIKES, *data["new_facts"])]}
    summary = await there.observe()
    [observation] = await there.believed()
    assert [each.fact_id for each in observation.support] == [first.fact_id, second.fact_id]
    assert (observation.first_time, observation.last_time) == (first.valid_from, second.valid_from)
    assert (observation.text, observation.proof_count, observation.version) == (LIKES, 2, 1)
    assert observation.group.owner == EntityRef("User", "u1")
    assert there.outcomes == [("CREATED", LIKES)]
    assert summary.state is RunState.SUCCEEDED
    counts = summary.observe
    assert (counts.total, counts.processed, counts.observations_created, counts.model_calls) == (2, 2, 1, 1)
    assert (counts.input_tokens, counts.output_tokens) == (100, 10)
    [version] = await there.history(observation.observation_id)
    assert (version.action, version.reason) == (ObservationAction.CREATED, "they agree")


async def test_facts_stay_as_they_were(there: Observatory):
    before = await there.tell("sails", "dives")
    there.model.reply = lambda data: {"creates": [create(LIKES, *data["new_facts"])]}
    await there.observe()
    assert await there.facts() == before


async def test_what_was_considered_is_not_asked_about_again(there: Observatory):
    await there.tell("sails")
    await there.observe()
    summary = await there.observe()
    assert (summary.observe.total, len(there.model.asked)) == (0, 1)
    [fact] = await there.tell("dives", day=9)
    await there.observe()
    assert [f["id"] for f in there.model.questions[-1]["new_facts"]] == [str(fact.fact_id)]


async def test_an_update_rewords_adds_support_and_is_a_version(there: Observatory):
    observation = await formed(there, LIKES, "sails")
    [fact] = await there.tell("dives", day=5)
    better = "u1 sails and dives"
    there.model.reply = lambda data: {"updates": [update(data["observations"][0], better, *data["new_facts"])]}
    await there.recall_all()
    await there.observe()
    [now] = await there.believed()
    assert (now.observation_id, now.text, now.proof_count) == (observation.observation_id, better, 2)
    assert now.support[-1].fact_id == fact.fact_id
    assert there.outcomes == [("UPDATED", better)]
    first, second = await there.history(now.observation_id)
    assert (first.observation.text, first.observation.proof_count) == (LIKES, 1)
    assert (second.observation.text, second.observation.proof_count) == (better, 2)
    assert first.recorded_to == second.recorded_from


async def test_a_merge_keeps_the_best_supported_with_all_sources(there: Observatory):
    small = await formed(there, "u1 dives", "dives")
    large = await formed(there, "u1 is often at sea", "sails", "rows", day=5)
    await there.tell("swims", day=9)
    await there.recall_all()
    ids = [str(each.observation_id) for each in (small, large)]
    merge = {"observation_ids": ids, "text": LIKES, "reason": "one thing"}
    there.model.reply = lambda _: {"merges": [merge]}
    summary = await there.observe()
    [kept] = await there.believed()
    assert (kept.observation_id, kept.text, kept.proof_count) == (large.observation_id, LIKES, 3)
    [gone] = await there.believed(RETIRED)
    assert (gone.observation_id, gone.proof_count) == (small.observation_id, 1)
    assert there.outcomes == [("MERGED", LIKES), ("RETIRED", "u1 dives")]
    assert (await there.history(gone.observation_id))[-1].reason == f"merged into {kept.observation_id}"
    assert (summary.observe.observations_merged, summary.observe.observations_retired) == (1, 1)


async def test_a_retired_observation_keeps_its_reason_and_its_evidence(there: Observatory):
    observation = await formed(there, LIKES, "sails")
    await there.tell("hates the sea", day=5)
    await there.recall_all()
    retire = {"observation_id": str(observation.observation_id), "reason": "says otherwise now"}
    there.model.reply = lambda _: {"retires": [retire]}
    await there.observe()
    assert await there.believed() == []
    [retired] = await there.believed(RETIRED)
    assert (retired.text, retired.proof_count) == (LIKES, 1)
    assert there.outcomes == [("RETIRED", LIKES)]
    assert (await there.history(retired.observation_id))[-1].reason == "says otherwise now"


class TestLateOldNews:
    """An older source does not become the current belief."""

    async def test_it_rewords_nothing_that_it_contradicts(self, there: Observatory):
        await formed(there, "u1 lives in Berlin", "Berlin", day=100)
        await there.tell("Munich", day=1)
        await there.recall_all()
        old = "u1 lives in Munich"
        there.judge.relations[old, "u1 lives in Berlin"] = Relation.CONTRADICTION
        there.model.reply = lambda data: {"updates": [update(data["observations"][0], old, *data["new_facts"])]}
        summary = await there.observe()
        [observation] = await there.believed()
        assert (observation.text, observation.proof_count, observation.version) == ("u1 lives in Berlin", 1, 1)
        assert there.outcomes == [("KEPT", "older_news")]
        assert (summary.observe.processed, summary.observe.rejected) == (1, 1)

    async def test_it_may_enrich_what_is_believed(self, there: Observatory):
        await formed(there, "u1 lives in Berlin", "Berlin", day=100)
        await there.tell("Munich", day=1)
        await there.recall_all()
        both = "u1 lives in Berlin, and lived in Munich before"
        there.judge.relations[both, "u1 lives in Berlin"] = Relation.REFINEMENT
        there.model.reply = lambda data: {"updates": [update(data["observations"][0], both, *data["new_facts"])]}
        await there.observe()
        assert await there.texts() == [both]

    async def test_it_retires_nothing(self, there: Observatory):
        observation = await formed(there, "u1 lives in Berlin", "Berlin", day=100)
        await there.tell("Munich", day=1)
        await there.recall_all()
        there.model.reply = lambda _: {"retires": [{"observation_id": str(observation.observation_id)}]}
        await there.observe()
        assert await there.texts() == ["u1 lives in Berlin"]
        assert there.outcomes == [("KEPT", "older_news")]

    async def test_newer_news_does_both(self, there: Observatory):
        await formed(there, "u1 lives in Munich", "Munich", day=1)
        await there.tell("Berlin", day=100)
        await there.recall_all()
        new = "u1 lives in Berlin"
        there.model.reply = lambda data: {"updates": [update(data["observations"][0], new, *data["new_facts"])]}
        await there.observe()
        assert await there.texts() == [new]


class TestChangedMeanwhile:
    """The answer is discarded, and the facts that are left stay pending."""

    @pytest.mark.parametrize("status", [FactStatus.DELETED, FactStatus.RETRACTED, FactStatus.DISPUTED])
    async def test_a_source_that_goes_during_the_call(self, there: Observatory, status):
        facts = await there.tell("sails", "dives")
        there.model.reply = lambda data: {"creates": [create(LIKES, *data["new_facts"])]}

        async def goes() -> None:
            there.model.meanwhile = None
            await there.move(facts[0], status)

        there.model.meanwhile = goes
        summary = await there.observe()
        asked = [[fact["id"] for fact in each["new_facts"]] for each in there.model.questions]
        assert asked == [[str(f.fact_id) for f in facts], [str(facts[1].fact_id)]]
        [observation] = await there.believed()
        assert [each.fact_id for each in observation.support] == [facts[1].fact_id]
        assert (summary.observe.processed, summary.observe.total, summary.observe.model_calls) == (1, 1, 2)

    async def test_an_observation_that_changes_during_the_call(self, there: Observatory):
        [first] = await there.tell("sails")
        there.model.reply = lambda data: {"creates": [create(LIKES, *data["new_facts"])]}
        await there.observe()
        await there.tell("dives", day=5)
        await there.recall_all()

        async def loses_its_support() -> None:
            there.model.meanwhile = None
            await there.move(first, FactStatus.RETRACTED)

        def reply(data: dict[str, Any]) -> Any:
            known = data["observations"]
            return {"updates": [update(known[0], "x", *data["new_facts"])]} if known else NOTHING

        there.model.meanwhile, there.model.reply = loses_its_support, reply
        await there.observe()
        assert await there.believed() == []
        assert len(there.model.asked) == 3

    async def test_corroboration_during_the_call_changes_nothing(self, there: Observatory):
        await there.tell("sails")
        there.model.reply = lambda data: {"creates": [create(LIKES, *data["new_facts"])]}

        async def said_again() -> None:
            there.model.meanwhile = None
            await there.tell("sails", day=3)

        there.model.meanwhile = said_again
        await there.observe()
        assert (await there.texts(), len(there.model.asked)) == ([LIKES], 1)


class TestRefusals:
    async def test_ids_that_were_not_shown_count_for_nothing(self, there: Observatory):
        [fact] = await there.tell("sails")
        [other] = await there.tell("skis", subject="u2")
        strange = {"id": str(uuid4())}

        def reply(data: dict[str, Any]) -> Any:
            if data["about"] != "User u1":
                return NOTHING
            invented = {"observation_id": str(uuid4()), **create("x", *data["new_facts"])}
            return {
                "creates": [create(LIKES, strange, other, *data["new_facts"]), create("u1 skis", other)],
                "updates": [invented],
                "retires": [{"observation_id": "no id"}, {"observation_id": str(uuid4())}],
            }

        there.model.reply = reply
        summary = await there.observe()
        [observation] = await there.believed()
        assert [each.fact_id for each in observation.support] == [fact.fact_id]
        assert summary.observe.rejected == 3

    async def test_an_update_wins_over_a_retirement(self, there: Observatory):
        observation = await formed(there, LIKES, "sails")
        await there.tell("dives", day=5)
        await there.recall_all()
        there.model.reply = lambda data: {
            "retires": [{"observation_id": str(observation.observation_id)}],
            "updates": [update(data["observations"][0], "u1 is a diver", *data["new_facts"])],
        }
        await there.observe()
        assert await there.texts() == ["u1 is a diver"]


class TestTwins:
    async def test_twins_within_an_answer_are_one_with_all_sources(self, there: Observatory):
        await there.tell("sails", "dives")
        twin = "The sea is what u1 likes"
        there.embedder.alike(LIKES, twin)
        there.judge.relate(Relation.SAME, LIKES, twin)
        there.model.reply = lambda data: {
            "creates": [create(LIKES, data["new_facts"][0]), create(twin, data["new_facts"][1])]
        }
        await there.observe()
        [observation] = await there.believed()
        assert (observation.text, observation.proof_count) == (LIKES, 2)

    async def test_a_twin_of_what_is_stored_becomes_its_next_version(self, there: Observatory):
        stored = await formed(there, LIKES, "sails")
        await there.tell("dives", day=5)
        twin = "The sea is what u1 likes"
        there.embedder.alike(LIKES, twin)
        there.judge.relate(Relation.SAME, LIKES, twin)
        there.model.reply = lambda data: {"creates": [create(twin, *data["new_facts"])]}
        await there.observe()
        [observation] = await there.believed()
        assert (observation.observation_id, observation.text) == (stored.observation_id, twin)
        assert (observation.proof_count, observation.version) == (2, 2)
        assert there.outcomes == [("UPDATED", twin)]

    @pytest.mark.parametrize("relation", [Relation.DISTINCT, Relation.CONTRADICTION, Relation.EXTENSION])
    async def test_what_only_sounds_alike_stays_apart(self, there: Observatory, relation):
        await formed(there, LIKES, "sails")
        await there.tell("dives", day=5)
        other = "u1 likes the sea not"
        there.embedder.alike(LIKES, other)
        there.judge.relate(relation, LIKES, other)
        there.model.reply = lambda data: {"creates": [create(other, *data["new_facts"])]}
        await there.observe()
        assert await there.texts() == [LIKES, other]


class TestGroupsNeverMix:
    """The model is sent nothing of another group, and no observation rests on two."""

    async def test_scopes_domains_owners_and_tags(self, there: Observatory):
        groups: list[dict[str, Any]] = [
            {},
            {"access_scope": "a"},
            {"access_scope": "b"},
            {"domain": "health"},
            {"tags": ("work",)},
            {"tags": ("work", "night")},
            {"subject": "u2"},
        ]
        for n, group in enumerate(groups):
            await there.tell(f"secret-{n}-one", f"secret-{n}-two", **group)
        there.model.reply = lambda data: {
            "creates": [create(f"pattern of {data['new_facts'][0]['text']}", *data["new_facts"])]
        }
        await there.observe()
        for n, group in enumerate(groups):
            await there.tell(f"secret-{n}-three", day=5, **group)
        await there.recall_all()
        await there.observe()
        assert len(there.model.asked) == 2 * len(groups)
        for request in there.model.asked:
            mentioned = {n for n in range(len(groups)) if f"secret-{n}" in request.user}
            assert len(mentioned) == 1
        facts = {fact.fact_id: fact for fact in await there.facts()}
        for observation in await there.believed():
            values = [facts[each.fact_id].claim.value for each in observation.support]  # type: ignore[union-attr]
            assert len({str(value).split("-")[1] for value in values}) == 1

    async def test_a_run_is_confined_to_its_subject_and_domain(self, there: Observatory):
        await there.tell("sails", domain="sport")
        await there.tell("skis", subject="u2", domain="sport")
        await there.tell("sleeps", domain="health")
        scope = RunScope(subject=EntityRef("User", "u1"), domain="sport", stages=OBSERVE.stages)
        summary = await there.observe(scope=scope)
        assert summary.observe.total == 1
        [question] = there.model.questions
        assert [fact["text"].split()[-1] for fact in question["new_facts"]] == ["sails"]
