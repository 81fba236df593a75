"""A customer's year, from raw events to facts: appended, worked in a run, watched, searched.

    python examples/consolidate_support.py

docs/consolidation.md goes through it step by step.
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from concord import (
    CandidateAction,
    CandidateResult,
    Claim,
    Client,
    EntityRef,
    EventCandidate,
    EventInput,
    EventMessage,
    EventOutcome,
    FactFilter,
    JsonValue,
    Run,
    RunScope,
    RunStage,
    Trust,
)

CUSTOMER = EntityRef("Customer", "c-17")


def day(month: int, number: int) -> datetime:
    """Returns noon of a day of 2025."""
    return datetime(2025, month, number, 12, tzinfo=UTC)


def says(predicate: str, value: JsonValue, action: CandidateAction = CandidateAction.SUPERSEDE) -> EventCandidate:
    """Returns what was taken from an event: the customer's new value of a predicate."""
    return EventCandidate(Claim("c-17", predicate, value), action=action, confidence=0.9)


# It arrives last, and is about a time between two bills.
LATE = EventInput(
    CUSTOMER,
    kind="billing",
    payload={"seats": 8, "invoice": "INV-2502"},
    occur_time=day(3, 20),
    idempotency_key="billing-2502",
    candidates=[says("seats", 8)],
)

EVENTS = [
    EventInput(
        CUSTOMER,
        kind="billing",
        payload={"plan": "Basic", "seats": 5, "invoice": "INV-2041"},
        occur_time=day(1, 10),
        idempotency_key="billing-2041",
        candidates=[says("plan", "Basic"), says("seats", 5)],
    ),
    EventInput(
        CUSTOMER,
        kind="billing",
        payload={"plan": "Team", "seats": 12, "invoice": "INV-2977"},
        occur_time=day(6, 3),
        idempotency_key="billing-2977",
        candidates=[says("plan", "Team"), says("seats", 12)],
    ),
    EventInput(
        CUSTOMER,
        kind="chat",
        messages=[
            EventMessage("user", "The export to Excel drops our umlauts again", "Jana"),
            EventMessage("assistant", "Sorry about that, I have opened a ticket"),
        ],
        occur_time=day(7, 1),
        idempotency_key="chat-881",
        candidates=[
            EventCandidate(action=CandidateAction.REJECT, reject_reason="transient_state"),
            says("export_format", "Excel"),
        ],
    ),
    LATE,
    # Somebody on the phone, who is believed less than the bills.
    EventInput(
        CUSTOMER,
        kind="call",
        text="A caller said that they are on the Enterprise plan",
        occur_time=day(8, 14),
        trust=Trust.THIRD_PARTY,
        idempotency_key="call-12",
        candidates=[says("plan", "Enterprise")],
    ),
]


def append(client: Client, events: Sequence[EventInput]) -> None:
    """Hands events over, and prints which of them are new."""
    appended = client.append_events(events)
    print("appended:", ", ".join("known" if one.duplicate else "new" for one in appended))


def consolidate(client: Client, *, dry: bool = False) -> None:
    """Works what waits, or plans to, and prints what became of each candidate, in the order of the events' times."""
    print("planned:" if dry else "run:")
    scope = RunScope(CUSTOMER, stages=[RunStage.EXTRACT], validate_only=dry)
    for message in client.consolidate(scope):
        if isinstance(message.update, EventOutcome):
            for candidate in message.update.candidates:
                print(f"  {shown(candidate)}")
        elif isinstance(message.update, Run) and message.last:
            progress = message.update.progress
            print(f"{message.update.state.value.lower()}: {progress.processed} of {progress.total} events")


def shown(candidate: CandidateResult) -> str:
    """Returns a candidate's outcome with what it was about."""
    claim = candidate.claim
    said = f"{claim.predicate} = {claim.value}" if claim else "(no claim)"
    return f"{candidate.outcome.value.lower():<12}{said:<24}{candidate.reason}".rstrip()


def show_facts(client: Client) -> None:
    """Prints the customer's facts by predicate and time."""
    facts = [fact for fact in client.list_facts(FactFilter(owner=CUSTOMER)) if fact.claim]
    for fact in sorted(facts, key=lambda f: (f.claim.predicate if f.claim else "", str(f.valid_from))):
        assert fact.claim is not None
        assert fact.valid_from is not None
        until = f"{fact.valid_to:%m-%d}" if fact.valid_to else "open"
        says = f"{fact.claim.predicate} = {fact.claim.value}"
        print(f"  {says:<24}{fact.valid_from:%m-%d} to {until:<6}{fact.status.value}")


def search(client: Client, query: str) -> None:
    """Prints the event that answers a query best, once all of them can be found."""
    while len(found := client.search_events(CUSTOMER, query)) < len(EVENTS):
        time.sleep(0.2)  # events are embedded in the background
    best = found[0].event
    print(f"  {query!r}: {best.idempotency_key}")


def main() -> None:
    """Appends the events, plans and runs them, and looks at what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="127.0.0.1:50051", help="HOST:PORT of a running service")
    arguments = parser.parse_args()
    with Client(arguments.target, project=f"support-{uuid.uuid4()}") as client:
        append(client, EVENTS[:3])
        consolidate(client)
        print()
        append(client, EVENTS[2:])
        consolidate(client, dry=True)
        consolidate(client)
        print()
        show_facts(client)
        print()
        search(client, "special characters get lost in spreadsheets")
        search(client, "INV-2502")


if __name__ == "__main__":
    main()
