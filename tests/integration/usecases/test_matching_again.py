"""A statement is matched again when others changed what it meets, and only then; what was found out is kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest
from concord_server.domain.commands import ReconcileCommand
from concord_server.domain.enums import ReconcileAction
from concord_server.domain.judgement import Judgement
from concord_server.ports.judge import JudgePair
from concord_server.providers.judges.local import LocalJudge
from concord_server.providers.system import TimeOrderedIds
from concord_server.services.matching import Matcher
from concord_server.services.reconcile import Reconcile
from concord_server.services.results import ReconcileResult

from .conftest import Desk

OTHERS = ["Zoe", "Tariq", "Olga", "Ivo", "Lena"]
STATEMENT = "Mira keeps seven brown hens behind the barn"
FARTHER = "Ravi keeps hens behind a barn"


@dataclass
class InterruptedJudge:
    """The real judge, which something happens to while it thinks for the first time."""

    real: LocalJudge
    meanwhile: Callable[[], Awaitable[object]]
    asked: list[list[str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.real.name

    async def judge(self, pairs: Sequence[JudgePair]) -> list[Judgement]:
        self.asked.append([pair.known for pair in pairs])
        if len(self.asked) == 1:
            await self.meanwhile()
        return await self.real.judge(pairs)


@pytest.fixture
def interrupted(desk: Desk, judge: LocalJudge) -> Callable[[str], tuple[InterruptedJudge, Reconcile]]:
    """Another caller of the same project, into whose judging a statement falls."""

    def made(text: str) -> tuple[InterruptedJudge, Reconcile]:
        thinking = InterruptedJudge(judge, lambda: desk.say(text, domain="yard"))
        matcher = Matcher(desk.ledger, desk.embedder, thinking, judge)
        return thinking, Reconcile(desk.ledger, matcher, desk.embedder, desk.clock, TimeOrderedIds())

    return made


async def reconciled(desk: Desk, reconcile: Reconcile, text: str) -> ReconcileResult:
    result = await reconcile.execute(desk.context, ReconcileCommand(text=text, domain="yard"))
    assert isinstance(result, ReconcileResult)
    return result


async def test_what_came_nearer_meanwhile_is_met_and_the_rest_is_not_judged_again(desk: Desk, interrupted):
    await desk.say("Zoe keeps a herd of goats", domain="yard")
    thinking, reconcile = interrupted("Mira keeps goats in a herd")

    result = await reconciled(desk, reconcile, "Mira keeps a herd of goats")

    assert result.action is ReconcileAction.MERGED
    assert len(thinking.asked) == 2
    assert not set(thinking.asked[0]) & set(thinking.asked[1])
    assert desk.embedder.asked.count("Mira keeps a herd of goats") == 1


async def test_what_is_farther_than_everything_judged_disturbs_nobody(desk: Desk, interrupted):
    for name in OTHERS:
        await desk.say(STATEMENT.replace("Mira", name), domain="yard")
    thinking, reconcile = interrupted(FARTHER)

    result = await reconciled(desk, reconcile, STATEMENT)

    assert [len(asked) for asked in thinking.asked] == [5]
    similarities = [candidate.similarity for candidate in result.decision.candidates]
    check = await desk.say(STATEMENT, domain="yard", validate_only=True)
    assert check.fact.fact_id == result.fact.fact_id
    [farther] = [f for f in await desk.facts() if f.text == FARTHER]
    async with desk.ledger.read(desk.context.project) as session:
        [vector] = await desk.embedder.embed([STATEMENT])
        distance = await session.facts.similarities([farther.fact_id], vector)
    assert 0.6 <= distance[farther.fact_id] < min(similarities)
