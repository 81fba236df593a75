"""Real conversations go through a service whose model answers with the reference facts of each session."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from concord import (
    AppendedEvent,
    Client,
    EntityRef,
    EventInput,
    EventMessage,
    EventOutcome,
    Run,
    RunScope,
    RunStage,
    RunState,
)

from tests.support.cli import LOCOMO_FACTS
from tests.support.model_server import MODEL, ModelServer, Received, Reply
from tests.support.service import running_service

TURNS = LOCOMO_FACTS.with_name("locomo_turns.jsonl")
EVERY = os.environ.get("CONCORD_LONG_INPUT") == "all"
"""Whether all conversations are read, which takes minutes, or two."""

pytestmark = pytest.mark.skipif(not TURNS.is_file(), reason=f"needs {TURNS.name} of the shared data")

Key = tuple[str, int, str]
"""A session as one of both speakers has it: conversation, number, speaker."""


class Conversations:
    """The sessions of some conversations, once for each speaker that they hold facts about."""

    def __init__(self) -> None:
        turns, facts = _read(TURNS), _read(LOCOMO_FACTS)
        names = sorted({turn["conversation"] for turn in turns})
        chosen = set(names if EVERY else names[:2])
        self.said = {(t["conversation"], t["turn_id"]): t["text"] for t in turns}
        self.facts: dict[Key, list[Mapping[str, Any]]] = {}
        for fact in facts:
            if fact["conversation"] in chosen:
                self.facts.setdefault(_key(fact, fact["subject"]), []).append(fact)
        self.turns: dict[Key, list[Mapping[str, Any]]] = {key: [] for key in self.facts}
        for turn in turns:
            for key in self.turns:
                if key[:2] == (turn["conversation"], turn["session"]):
                    self.turns[key].append(turn)

    def events(self) -> Iterator[EventInput]:
        for (conversation, session, speaker), turns in self.turns.items():
            yield EventInput(
                EntityRef("Person", speaker),
                kind="conversation",
                domain=conversation,
                messages=[EventMessage("user", turn["text"], turn["speaker"]) for turn in turns],
                occur_time=datetime.strptime(turns[0]["time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
                idempotency_key=f"{conversation}/{session}/{speaker}",
            )

    def answer(self, request: Received) -> Reply:
        """Answers with the reference facts of the session that is asked about."""
        about, *rest = [json.loads(line) for line in request.user.split("\n")[1:-1]]
        first = next(line["said"] for line in rest if "said" in line)
        [key] = [k for k, t in self.turns.items() if k[2] == about["subject"] and t[0]["text"] == first]
        facts = [self._stated(fact) for fact in self.facts[key]]
        return Reply(json.dumps({"reasoning": "as referred to", "facts": facts}), tokens=None)

    def _stated(self, fact: Mapping[str, Any]) -> dict[str, Any]:
        words = fact["text"].removeprefix(fact["subject"]).split()
        return {
            "subject": fact["subject"],
            "predicate": words[0],
            "value": " ".join(words[1:]) or fact["text"],
            "cardinality": "MULTI",
            "text": fact["text"],
            "confidence": 0.9,
            "evidence": [
                self.said[fact["conversation"], turn]
                for turn in fact["evidence_turns"]
                if (fact["conversation"], turn) in self.said
            ],
        }


def _key(one: Mapping[str, Any], speaker: str) -> Key:
    return (one["conversation"], one["session"], speaker)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _append(client: Client, conversations: Conversations) -> list[AppendedEvent]:
    events = conversations.events()
    appended: list[AppendedEvent] = []
    while batch := list(islice(events, 20)):
        appended += client.append_events(batch)
    return appended


def _consolidate(client: Client) -> tuple[Run, list[EventOutcome]]:
    run = client.start_run(RunScope(stages=[RunStage.EXTRACT]))
    told = [message.update for message in client.watch_run(run.run_id)]
    assert isinstance(told[-1], Run)
    return told[-1], [update for update in told if isinstance(update, EventOutcome)]


@pytest.mark.timeout(1800)
def test_every_reference_fact_ends_as_a_fact_a_source_or_a_reasoned_rejection(tmp_path: Path, capsys) -> None:
    conversations = Conversations()
    with ModelServer(conversations.answer) as model:
        environment = {"CONCORD_LLM_BASE_URL": model.url, "CONCORD_LLM_MODEL": MODEL}
        with (
            running_service(tmp_path / "data", environment=environment) as service,
            Client(service.target) as client,
        ):
            appended = _append(client, conversations)
            keys = dict(zip((one.event_id for one in appended), conversations.turns, strict=True))
            run, outcomes = _consolidate(client)
            assert run.state is RunState.SUCCEEDED
            assert run.progress.failed == 0
            assert {outcome.event_id for outcome in outcomes} == set(keys)
            counts: Counter[str] = Counter()
            for outcome in outcomes:
                expected = [fact["text"] for fact in conversations.facts[keys[outcome.event_id]]]
                assert sorted(c.text for c in outcome.candidates) == sorted(expected)
                for candidate in outcome.candidates:
                    refused = candidate.outcome.value == "REJECTED"
                    assert bool(candidate.fact) is not refused, candidate
                    assert candidate.reason or not refused
                    counts[f"{candidate.outcome.value} {candidate.reason if refused else ''}".strip()] += 1
            facts = list(client.list_facts())
            assert {c.fact.fact_id for o in outcomes for c in o.candidates if c.fact} == {f.fact_id for f in facts}
            assert sum(fact.source_count for fact in facts) >= len(facts)
            calls = model.asked
            assert calls == len(keys)

            assert all(one.duplicate for one in _append(client, conversations))
            again, _ = _consolidate(client)
            assert (again.state, again.progress.total, model.asked) == (RunState.SUCCEEDED, 0, calls)
    with capsys.disabled():
        asked = sum(len(request.system) + len(request.user) for request in model.received)
        print(f"\n{len(keys)} events, {calls} calls, {asked / calls:.0f} characters asked a call")
        print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
