"""What a candidate is to the ledger, before it is placed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from concord_server.domain.commands import ClaimInput, ReconcileCommand
from concord_server.domain.consolidation import (
    MAX_ATTEMPTS,
    Rejection,
    admit,
    candidate_key,
    outcome_of,
    rendered,
    setback,
)
from concord_server.domain.enums import (
    CandidateAction,
    CandidateOutcome,
    ContradictionPolicy,
    EventState,
    FactType,
    Trust,
)
from concord_server.domain.events import Event, EventCandidate
from concord_server.domain.model import EntityRef, EvidenceInput, Partition, SourceInput
from concord_server.domain.placement import Outcome
from concord_server.domain.runs import Progress, eta, progress_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
CLAIM = ClaimInput("u1", "city", "Lagos")
CANDIDATE = EventCandidate(CLAIM, confidence=0.9)
EVENT = Event(
    event_id=UUID("019a0000-0000-7000-8000-000000000001"),
    subject=EntityRef("User", "u1"),
    kind="chat",
    text="I moved",
    payload={},
    messages=(),
    occur_time=NOON,
    trust=Trust.THIRD_PARTY,
    access_scope="team-a",
    domain="home",
    source=None,
    tags=("chat",),
    idempotency_key="",
    candidates=(CANDIDATE,),
    create_time=NOON,
    update_time=NOON,
)


def admitted(candidate: EventCandidate = CANDIDATE, event: Event = EVENT) -> ReconcileCommand:
    command = admit(event, candidate)
    assert isinstance(command, ReconcileCommand)
    return command


class TestAdmission:
    def test_the_partition_is_the_events_whatever_the_claim_is_about(self):
        command = admitted(EventCandidate(ClaimInput("Melanie", "city", "Porto"), type=FactType.OPINION))
        assert command.partition == Partition("team-a", "home", FactType.OPINION, "User", "u1")

    def test_the_subject_of_the_claim_is_the_events_unless_it_names_one(self):
        command = admitted(EventCandidate(ClaimInput(" ", "city", "Porto")))
        assert command.claim is not None
        assert command.claim.subject == "u1"

    def test_the_event_is_the_source_with_the_credibility_of_its_trust(self):
        source = admitted().source
        assert source is not None
        assert (source.source_type, source.external_id) == ("event", str(EVENT.event_id))
        assert (source.credibility, source.trust, source.extract_time) == (0.4, Trust.THIRD_PARTY, NOON)

    def test_credibility_and_address_of_the_events_own_source_are_kept(self):
        event = replace(EVENT, source=SourceInput(url="https://a.example", external_id="doc", credibility=0.95))
        source = admitted(event=event).source
        assert source is not None
        assert (source.credibility, source.url, source.external_id) == (
            0.95,
            "https://a.example",
            str(EVENT.event_id),
        )
        assert source.metadata["origin_external_id"] == "doc"

    def test_it_holds_from_the_events_time_unless_it_says_otherwise(self):
        assert (admitted().valid_from, admitted().observe_time) == (None, NOON)
        earlier = NOON - timedelta(days=1)
        assert admitted(replace(CANDIDATE, valid_from=earlier)).valid_from == earlier

    @pytest.mark.parametrize(
        ("action", "policy", "expected"),
        [
            (CandidateAction.CREATE, ContradictionPolicy.CONFLICT, ContradictionPolicy.CONFLICT),
            (CandidateAction.CREATE, ContradictionPolicy.SUPERSEDE, ContradictionPolicy.SUPERSEDE),
            (CandidateAction.SUPERSEDE, ContradictionPolicy.CONFLICT, ContradictionPolicy.SUPERSEDE),
        ],
    )
    def test_what_it_does_against_another_value_follows_from_its_action_and_the_policy(
        self, action, policy, expected
    ):
        command = admit(EVENT, replace(CANDIDATE, action=action), policy)
        assert isinstance(command, ReconcileCommand)
        assert command.contradiction_policy is expected

    def test_tags_of_both_are_kept_once(self):
        assert admitted(replace(CANDIDATE, tags=("chat", "move"))).tags == ("chat", "move")

    @pytest.mark.parametrize(("given", "kept"), [(0.9, 0.9), (7.0, 1.0), (-1.0, 0.0), (float("nan"), 0.0)])
    def test_its_confidence_is_kept_on_its_evidence_within_bounds(self, given, kept):
        [evidence] = admitted(replace(CANDIDATE, confidence=given)).evidence
        assert (evidence.confidence, evidence.source_ref) == (kept, str(EVENT.event_id))

    def test_evidence_keeps_a_confidence_of_its_own(self):
        given = (EvidenceInput(quote="I moved", confidence=0.3), EvidenceInput(quote="to Lagos"))
        kept = admitted(replace(CANDIDATE, evidence=given)).evidence
        assert [item.confidence for item in kept] == [0.3, 0.9]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (EventCandidate(), "missing_claim"),
        (EventCandidate(ClaimInput("u1", "", "x")), "invalid_predicate"),
        (EventCandidate(ClaimInput("u1", "-", "x")), "invalid_predicate"),
        (EventCandidate(ClaimInput("u1", "p" * 129, "x")), "invalid_predicate"),
        (EventCandidate(ClaimInput("s" * 257, "p", "x")), "invalid_subject"),
        (EventCandidate(ClaimInput("u1", "p", None)), "missing_value"),
        (EventCandidate(ClaimInput("u1", "p", float("inf"))), "invalid_value"),
        (EventCandidate(ClaimInput("u1", "p", "x" * 5000)), "value_too_large"),
        (replace(CANDIDATE, text="!!!"), "invalid_text"),
        (replace(CANDIDATE, valid_from=NOON, valid_to=NOON - timedelta(days=1)), "invalid_interval"),
        (replace(CANDIDATE, tags=(" ",)), "invalid_tags"),
        (replace(CANDIDATE, problem="invalid_type"), "invalid_type"),
        (replace(CANDIDATE, action=CandidateAction.REJECT, reject_reason="transient_state"), "transient_state"),
        (replace(CANDIDATE, action=CandidateAction.REJECT), "rejected_by_sender"),
    ],
)
def test_a_bad_candidate_is_refused_with_a_reason(candidate, reason):
    assert admit(EVENT, candidate) == Rejection(reason)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (ClaimInput("u1", "favoriteColor", " blue "), "u1 favorite color blue"),
        (ClaimInput("u1", "is vegan", True), "u1 is vegan yes"),
        (ClaimInput("u1", "trip", {"target": "Kyoto", "companion": None}), "u1 trip target Kyoto"),
        (ClaimInput("u1", "pets", ["cat", 2]), "u1 pets cat, 2"),
    ],
)
def test_a_claim_without_wording_is_put_into_words(claim, text):
    assert rendered(claim) == text
    assert admitted(EventCandidate(claim)).text == text


class TestKey:
    def test_it_is_that_of_the_claim_and_not_of_its_wording(self):
        said_otherwise = EventCandidate(ClaimInput(" U1 ", "City", " lagos"), text="other words", confidence=0.1)
        assert candidate_key(EVENT, said_otherwise) == candidate_key(EVENT, CANDIDATE)

    @pytest.mark.parametrize(
        "other",
        [
            EventCandidate(ClaimInput("u1", "city", "Porto")),
            EventCandidate(ClaimInput("u2", "city", "Lagos")),
            EventCandidate(ClaimInput("u1", "city", "Lagos", {"kind": "work"})),
            replace(CANDIDATE, action=CandidateAction.SUPERSEDE),
            replace(CANDIDATE, type=FactType.EVENT),
            replace(CANDIDATE, valid_from=NOON + timedelta(days=1)),
        ],
    )
    def test_another_statement_has_another(self, other):
        assert candidate_key(EVENT, other) != candidate_key(EVENT, CANDIDATE)


def test_every_placing_has_its_outcome():
    assert [outcome_of(outcome).name for outcome in Outcome] == [outcome.name for outcome in Outcome]


class TestSetback:
    def test_pauses_double_until_the_event_is_given_up(self):
        pauses = [setback(attempt, NOON).retry_time for attempt in range(1, MAX_ATTEMPTS)]
        assert [(p - NOON).total_seconds() for p in pauses if p] == [10, 20, 40, 80]

    def test_the_last_attempt_is_the_last(self):
        assert setback(MAX_ATTEMPTS, NOON).state is EventState.DEAD
        assert setback(MAX_ATTEMPTS, NOON).retry_time is None


class TestProgress:
    def test_an_event_counts_its_candidates_by_outcome(self):
        counted = progress_of([CandidateOutcome.CREATED, CandidateOutcome.REJECTED, CandidateOutcome.CREATED])
        assert counted == Progress(processed=1, created=2, rejected=1)

    def test_a_failed_event_counts_as_processed_and_failed(self):
        assert progress_of([], failed=True) == Progress(processed=1, failed=1)

    def test_the_time_left_goes_by_the_pace_so_far(self):
        done = Progress(total=10, processed=4)
        assert eta(done, NOON, NOON + timedelta(seconds=8)) == timedelta(seconds=12)

    def test_without_a_pace_there_is_no_time_left(self):
        assert eta(Progress(total=10), NOON, NOON) is None
        assert eta(Progress(total=10, processed=1), None, NOON) is None
