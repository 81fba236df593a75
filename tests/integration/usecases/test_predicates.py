"""Which predicate a claim means: the one it states, a learned alias, or one that the judge confirms."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import (
    CandidateAction,
    CandidateOutcome,
    Cardinality,
    ClaimSupport,
    ContradictionPolicy,
    FactStatus,
    FactType,
    ReconcileAction,
    Trust,
)
from concord_server.domain.events import EventCandidate, NewEvent
from concord_server.domain.judgement import Judgement, Relation
from concord_server.domain.model import EntityRef, Fact, SourceInput
from concord_server.domain.predicates import Near, Predicate
from concord_server.domain.queries import FactFilter
from concord_server.domain.values import Json
from concord_server.ports.judge import Judge, JudgePair, JudgeUnavailableError
from concord_server.providers.embedders.onnx import OnnxEmbedder
from concord_server.providers.judges.local import LocalJudge
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.check_claim import CheckClaim, ClaimQuestion
from concord_server.services.merge_entities import EntityMerge, MergeEntities
from concord_server.services.propose_predicates import PredicateProposer
from concord_server.services.results import ReconcileResult
from concord_server.storage.sessions import PostgresLedger

from tests.integration.usecases.conftest import NOON, Desk
from tests.support.facts import minutes
from tests.support.runs import Bench, at_work, said


async def claim(
    desk: Desk, predicate: str, value: Json, subject: str = "Sam", /, **fields: object
) -> ReconcileResult:
    more = {name: fields.pop(name) for name in ("cardinality", "qualifiers") if name in fields}
    given = ClaimInput(subject, predicate, value, **more)  # type: ignore[arg-type]
    return await desk.say(f"{subject} {predicate} {value}", claim=given, **fields)


async def registered(desk: Desk, predicate: str) -> Predicate:
    async with desk.ledger.read(desk.context.project) as session:
        found = await session.predicates.get(predicate)
    assert found is not None
    return found


def predicate_of(fact: Fact) -> str:
    assert fact.claim is not None
    return fact.claim.predicate


async def test_a_confirmed_name_supersedes_and_becomes_an_alias(desk: Desk):
    blue = await claim(desk, "favorite_color", "blue")
    green = await claim(desk, "Preferred Color", "green")
    assert green.action is ReconcileAction.BRANCHED
    assert predicate_of(green.fact) == "favorite_color"
    assert green.warnings == (
        "predicate preferred_color is taken as favorite_color: the judge finds that both mean the same",
    )
    assert (await desk.read(blue.fact)).status is FactStatus.SUPERSEDED
    assert (await registered(desk, "favorite_color")).aliases == ("preferred_color",)


async def test_a_learned_alias_needs_no_judge_and_serves_other_subjects(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "preferred_color", "green")
    desk.embedder.down = True
    other = await claim(desk, "preferred_color", "red", "Kim", source=SourceInput("web", trust=Trust.UNTRUSTED))
    assert predicate_of(other.fact) == "favorite_color"
    assert "predicate preferred_color is taken as favorite_color: an alias" in other.warnings


async def test_facts_are_found_by_every_name_of_their_predicate(desk: Desk, judge: LocalJudge):
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "preferred_color", "green")
    for name in ("favorite_color", "preferred_color"):
        assert len(await desk.facts(FactFilter(predicate=name))) == 2
    assert await desk.facts(FactFilter(predicate="lucky_color")) == []
    checks = CheckClaim(desk.ledger, desk.embedder, judge, judge, desk.clock)

    async def check(value: str) -> ClaimSupport:
        question = ClaimQuestion(claim=ClaimInput("Sam", "preferred_color", value))
        return (await checks.execute(desk.context, question)).support

    assert await check("green") is ClaimSupport.SUPPORTED
    assert await check("blue") is ClaimSupport.CONTRADICTED


async def test_a_check_goes_by_the_stated_name_where_the_subject_uses_it(desk: Desk, judge: LocalJudge):
    await claim(desk, "favorite_color", "blue", "Kim")
    await claim(desk, "preferred_color", "green")
    async with desk.ledger.write(desk.context.project) as session:
        await session.predicates.add_alias("preferred_color", "favorite_color", NOON, learned=False)
    await claim(desk, "favorite_color", "teal", "Sam")  # means preferred_color, which Sam uses
    checks = CheckClaim(desk.ledger, desk.embedder, judge, judge, desk.clock)
    question = ClaimQuestion(claim=ClaimInput("Sam", "favorite_color", "teal"))
    assert (await checks.execute(desk.context, question)).support is ClaimSupport.SUPPORTED


async def test_a_near_miss_stays_its_own_and_is_listed(desk: Desk):
    await claim(desk, "bike_count", 3)
    for subject in ("Sam", "Kim"):
        await claim(desk, "bike_count", 3, subject)
        cars = await claim(desk, "car_count", 3, subject)
        assert cars.action is ReconcileAction.CREATED
        assert predicate_of(cars.fact) == "car_count"
    bikes = await registered(desk, "bike_count")
    assert bikes.aliases == ()
    [suggestion] = bikes.suggestions
    assert (suggestion.predicate, suggestion.seen_count) == ("car_count", 2)
    assert 0.5 < suggestion.similarity < 1
    assert (await registered(desk, "car_count")).suggestions == ()


async def test_the_stated_predicate_comes_before_its_alias(desk: Desk):
    await claim(desk, "preferred_color", "red", "Kim")
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "preferred_color", "green")
    again = await claim(desk, "preferred_color", "teal", "Kim")
    assert predicate_of(again.fact) == "preferred_color"
    assert again.action is ReconcileAction.BRANCHED


@pytest.mark.parametrize("trust", [Trust.UNTRUSTED, Trust.THIRD_PARTY, Trust.SEMI_TRUSTED])
async def test_lower_trust_teaches_nothing(desk: Desk, trust: Trust):
    source = SourceInput("web", trust=trust)
    await claim(desk, "favorite_color", "blue", source=source)
    green = await claim(desk, "preferred_color", "green", source=source)
    assert predicate_of(green.fact) == "favorite_color"
    assert green.action is ReconcileAction.BRANCHED
    assert (await registered(desk, "favorite_color")).aliases == ()


async def test_what_supersedes_nothing_teaches_nothing(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    same = await claim(desk, "preferred_color", "Blue")
    assert (same.action, predicate_of(same.fact)) == (ReconcileAction.MERGED, "favorite_color")
    rival = await claim(desk, "preferred_color", "red", contradiction_policy=ContradictionPolicy.CONFLICT)
    assert rival.action is ReconcileAction.CONFLICTED
    assert (await registered(desk, "favorite_color")).aliases == ()


async def test_values_beside_others_and_occurrences_are_not_proposed_for(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    several = await claim(desk, "preferred_color", "green", cardinality=Cardinality.MULTI)
    assert (several.action, predicate_of(several.fact)) == (ReconcileAction.CREATED, "preferred_color")
    await claim(desk, "birth_date", "1990-04-12", type=FactType.EVENT)
    once = await claim(desk, "date_of_birth", "1990-04-12", type=FactType.EVENT)
    assert (once.action, predicate_of(once.fact)) == (ReconcileAction.CREATED, "date_of_birth")
    whole = await claim(desk, "preferred_color_2", {"name": "green"})
    assert whole.action is ReconcileAction.CREATED


async def test_other_qualifiers_and_other_partitions_are_not_proposed_for(desk: Desk):
    await claim(desk, "favorite_color", "blue", qualifiers={"of": "car"})
    plain = await claim(desk, "preferred_color", "green")
    assert predicate_of(plain.fact) == "preferred_color"
    away = await claim(desk, "preferred_color", "green", domain="elsewhere", qualifiers={"of": "car"})
    assert predicate_of(away.fact) == "preferred_color"


async def test_a_learned_alias_does_not_join_two_families(desk: Desk):
    """Each learned alias was itself compared with the name that it stands for."""
    await claim(desk, "preferred_color", "red", "Kim")
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "preferred_color", "green")  # preferred_color is favorite_color now
    joined = await claim(desk, "favourite_colour", "teal", "Kim")
    assert predicate_of(joined.fact) == "preferred_color"
    assert (await registered(desk, "favorite_color")).aliases == ("preferred_color",)
    assert (await registered(desk, "preferred_color")).aliases == ()


async def test_without_the_embedder_a_name_means_itself(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    desk.embedder.down = True
    green = await claim(desk, "preferred_color", "green")
    assert (green.action, predicate_of(green.fact)) == (ReconcileAction.CREATED, "preferred_color")


async def test_a_plan_learns_and_counts_nothing(desk: Desk):
    await claim(desk, "favorite_color", "blue")
    await claim(desk, "bike_count", 3)
    planned = await claim(desk, "preferred_color", "green", validate_only=True)
    assert planned.action is ReconcileAction.BRANCHED
    await claim(desk, "car_count", 3, validate_only=True)
    assert (await registered(desk, "favorite_color")).aliases == ()
    assert (await registered(desk, "bike_count")).suggestions == ()


async def test_erasing_leaves_names_alone_and_no_value(desk: Desk):
    secret = "SECRETIVE"
    await claim(desk, "favorite_color", secret, secret)
    await claim(desk, "lucky_color", secret + " blue", secret)
    for fact in await desk.facts():
        await desk.move(fact, FactStatus.DELETED)
    async with desk.ledger._engine.connect() as connection:
        for table in ("predicates", "predicate_aliases", "predicate_suggestions", "slots"):
            rows = await connection.exec_driver_sql(f"SELECT t::text FROM {table} t")
            assert not [row for row in rows.scalars() if secret in row]
    assert await desk.facts(FactFilter(predicate="favorite_color")) == []


@dataclass
class Spy:
    """The real judge, which lets the test do something while it thinks, once."""

    real: Judge
    meanwhile: list[object] = field(default_factory=list)
    asked: list[JudgePair] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.real.name

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        self.asked += pairs
        while self.meanwhile:
            await self.meanwhile.pop()()  # type: ignore[operator]
        return await self.real.judge(pairs)


@pytest.fixture
def spy(desk: Desk, judge: LocalJudge) -> Spy:
    spy = Spy(judge)
    desk.proposer._judge = spy
    return spy


async def test_a_proposal_that_was_overtaken_is_made_anew(desk: Desk, spy: Spy):
    await claim(desk, "favorite_color", "blue")

    async def use_it() -> None:
        await claim(desk, "preferred_color", "grey")

    spy.meanwhile = [use_it]
    green = await claim(desk, "preferred_color", "green")
    assert predicate_of(green.fact) == "favorite_color"  # by the alias that was learned meanwhile
    assert "an alias" in green.warnings[0]
    assert len(await desk.facts(FactFilter(predicate="favorite_color"))) == 3


async def test_a_predicate_that_came_meanwhile_is_compared_too(desk: Desk, spy: Spy):
    await claim(desk, "favorite_color", "blue")

    async def another() -> None:
        await claim(desk, "lucky_number", 7)

    spy.meanwhile = [another]
    green = await claim(desk, "preferred_color", "green")
    assert predicate_of(green.fact) == "favorite_color"
    assert {pair.project for pair in spy.asked} == {desk.context.project}
    assert len(spy.asked) == 8  # both ways round, with both values, and all of it again


async def test_what_was_judged_once_is_not_judged_again(desk: Desk, spy: Spy):
    """Asked often enough, with enough values, a judge would say yes once."""
    async with desk.ledger.write(desk.context.project) as session:
        await session.predicates.suggest("preferred_color", [Near("favorite_color", 0.8)], NOON)
    await claim(desk, "favorite_color", "blue")
    green = await claim(desk, "preferred_color", "green")
    assert (green.action, spy.asked) == (ReconcileAction.CREATED, [])


@dataclass
class Away:
    """A judge that cannot answer now."""

    name: str = "away"

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        raise JudgeUnavailableError


async def test_a_no_of_the_judge_that_stands_in_is_not_for_good(desk: Desk):
    desk.proposer._judge = Away()
    await claim(desk, "favorite_color", "blue")
    stood_in = await claim(desk, "preferred_color", "green")
    assert predicate_of(stood_in.fact) == "favorite_color"
    desk.proposer._fallback = NeverSure()
    await claim(desk, "birth_date", "1990-04-12")
    own = await claim(desk, "date_of_birth", "1990-04-13")
    assert predicate_of(own.fact) == "date_of_birth"
    assert (await registered(desk, "birth_date")).suggestions == ()


@dataclass
class NeverSure:
    """A judge that says nothing with certainty."""

    name: str = "unsure"

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        return [Judgement({Relation.SAME: 0.5, Relation.EXTENSION: 0.5}) for _ in pairs]


async def test_one_value_holds_whatever_names_come_at_once(desk: Desk):
    names = ("favorite_color", "preferred_color", "favourite_colour", "preferred_colour")
    said = [claim(desk, names[i % 4], f"v{i}", observe_time=NOON - minutes(20 - i)) for i in range(12)]
    await asyncio.gather(*said)
    facts = await desk.facts()
    assert len({f.slot_id for f in facts}) == 1
    assert [f.claim.value for f in facts if f.status is FactStatus.ACTIVE and f.claim] == ["v11"]


async def test_a_merged_entity_is_found_by_its_predicates(desk: Desk):
    owner, stays = EntityRef("User", "u1"), EntityRef("User", "u2")
    await claim(desk, "favorite_color", "blue", "u1", owner=owner)
    merges = MergeEntities(desk.ledger, desk.clock, TimeOrderedIds())
    await merges.execute(desk.context, EntityMerge("User", "u1", "u2"))
    green = await claim(desk, "preferred_color", "green", "u2", owner=stays)
    assert (green.action, predicate_of(green.fact)) == (ReconcileAction.BRANCHED, "favorite_color")


@pytest.fixture
def bench(ledger: PostgresLedger, real_embedder: OnnxEmbedder, judge: LocalJudge, project: str) -> Bench:
    made = Bench(ledger, project)
    made.proposer = PredicateProposer(ledger, real_embedder, judge, judge, made.clock)
    return made


async def test_events_in_order_supersede_by_meaning(bench: Bench):
    await bench.append(said("blue", 0, predicate="favorite_color"), said(3, 1, predicate="bike_count"))
    await bench.append(said("green", 2, predicate="preferred_color"), said(3, 3, predicate="car_count"))
    _, outcomes = await bench.worked()
    results = [candidate.outcome for outcome in outcomes for candidate in outcome.candidates]
    assert results == [
        CandidateOutcome.CREATED,
        CandidateOutcome.CREATED,
        CandidateOutcome.SUPERSEDED,
        CandidateOutcome.CREATED,
    ]
    async with bench.ledger.read(bench.project) as session:
        color = await session.predicates.get("favorite_color")
        bikes = await session.predicates.get("bike_count")
    assert color is not None
    assert bikes is not None
    assert color.aliases == ("preferred_color",)
    assert [s.predicate for s in bikes.suggestions] == ["car_count"]


async def test_candidates_of_one_event_see_each_other(bench: Bench):
    candidates = tuple(
        EventCandidate(ClaimInput("u1", predicate, "blue"), action=CandidateAction.SUPERSEDE)
        for predicate in ("favorite_color", "preferred_color")
    )
    await bench.append(NewEvent(EntityRef("User", "u1"), occur_time=NOON, candidates=candidates))
    async with at_work(bench.worker()):
        run = await bench.start()
        await bench.told(run)
    [fact] = await bench.facts()
    assert (predicate_of(fact), fact.reinforcement_count) == ("favorite_color", 1)
