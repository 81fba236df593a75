"""What the use cases of BriefingService answer in contract tests."""

from __future__ import annotations

from concord_server.domain.claim_check import ClaimCheck
from concord_server.domain.entities import EntitySummary
from concord_server.domain.enums import ClaimSupport, FactStatus, FactType
from concord_server.domain.model import EntityRef
from concord_server.domain.noteworthiness import Noteworthiness, RankedFact
from concord_server.domain.queries import Page
from concord_server.domain.search import SearchResult
from concord_server.ports.briefing import FactCounts
from concord_server.services.briefing import Briefing

from tests.contract.ledger_values import CONFLICT, FACT, NOW
from tests.contract.observation_values import OBSERVATION

FOUND = SearchResult(FACT, similarity=0.5, text_rank=0.25, score=0.03125)
RANKED = RankedFact(FACT, Noteworthiness(0.375, 0.0625, 0.125))
CHECK = ClaimCheck(ClaimSupport.CONTRADICTED, (), (FACT,), "another value holds")
ENTITY = EntitySummary("Person", "ada", 3, NOW)
BRIEFING = Briefing(
    entity=EntityRef("Person", "ada"),
    facts=Page([FACT], None, 1),
    counts=FactCounts({FactType.MEASUREMENT: 3}, {FactStatus.ACTIVE: 2, FactStatus.DISPUTED: 1}),
    observations=[OBSERVATION],
    open_conflicts=[CONFLICT],
    markdown="# ada (Person)",
    generate_time=NOW,
)
