"""Events and runs for tests of the edge."""

from datetime import timedelta
from uuid import UUID

from concord_server.domain.commands import ClaimInput
from concord_server.domain.enums import CandidateOutcome, EventState, RunState, Trust
from concord_server.domain.event_search import EventMatch
from concord_server.domain.events import Appended, Event, EventCandidate, EventMessage, Failure
from concord_server.domain.model import EntityRef, SourceInput
from concord_server.domain.runs import (
    CandidateResult,
    EventOutcome,
    Progress,
    ProgressReport,
    Run,
    RunMessage,
    RunScope,
)

from tests.contract.ledger_values import FACT, NOW

EVENT_ID = UUID("019a0000-0000-7000-8000-0000000000e1")
RUN_ID = UUID("019a0000-0000-7000-8000-0000000000f1")
CLAIM = ClaimInput("u1", "city", "Lagos")
APPENDED = Appended(EVENT_ID, duplicate=False)

EVENT = Event(
    event_id=EVENT_ID,
    subject=EntityRef("User", "u1"),
    kind="chat.message",
    text="I moved to Lagos",
    payload={"channel": "web"},
    messages=(EventMessage("user", "I moved to Lagos", "Ada", NOW),),
    occur_time=NOW,
    trust=Trust.SEMI_TRUSTED,
    access_scope="team-a",
    domain="home",
    source=SourceInput(title="chat", credibility=0.7),
    tags=("chat",),
    idempotency_key="k1",
    candidates=(EventCandidate(CLAIM, "u1 lives in Lagos", confidence=0.9),),
    create_time=NOW,
    update_time=NOW,
    state=EventState.FAILED,
    attempts=2,
    last_error=Failure("UNAVAILABLE", "the embedder is overloaded"),
    retry_time=NOW + timedelta(seconds=20),
)
MATCH = EventMatch(EVENT, similarity=0.75, text_rank=0.06, score=2 / 61)
RUN = Run(RUN_ID, RunState.QUEUED, RunScope(EntityRef("User", "u1")), NOW, extract=Progress(total=1))
ENDED = Run(
    RUN_ID,
    RunState.FAILED,
    RunScope(EntityRef("User", "u1")),
    NOW,
    extract=Progress(total=2, processed=1, created=1),
    error=Failure("NO_MODEL", "no model is configured"),
    start_time=NOW,
    end_time=NOW + timedelta(seconds=1),
)
OUTCOME = EventOutcome(
    EVENT_ID,
    EventState.DONE,
    (
        CandidateResult(CandidateOutcome.CREATED, CLAIM, "u1 lives in Lagos", "nothing held there", FACT),
        CandidateResult(CandidateOutcome.REJECTED, None, "", "missing_claim"),
    ),
)
MESSAGES = (
    RunMessage(1, RUN),
    RunMessage(2, OUTCOME),
    RunMessage(3, ProgressReport(Progress(total=2, processed=1, created=1), timedelta(seconds=1.5))),
    RunMessage(4, ENDED, last=True),
)
