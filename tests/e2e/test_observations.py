"""Observations as users reach them: formed by embedder and judge or by a model over HTTP, and read in every way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from concord import (
    Client,
    EntityRef,
    FactFilter,
    NotFoundError,
    ObservationAction,
    ObservationState,
    RunScope,
    RunStage,
    RunState,
    SourceInput,
    Statement,
)

from tests.support.cli import Ended, rows, run_concord
from tests.support.model_server import KEY, MODEL, ModelServer, Received
from tests.support.service import RunningService, running_service

OBSERVE = RunScope(stages=(RunStage.OBSERVE,))
START = datetime(2026, 3, 1, tzinfo=UTC)
MARA, IDRIS = EntityRef("Person", "mara"), EntityRef("Person", "idris")
PAINTING = ("Mara finds happiness and fulfilment in painting.", "Mara loves to paint and it makes her happy.")
THANKS = (
    "Idris appreciates Nora's support for his thesis.",
    "Idris is thankful for Nora's support with the thesis and says that it means a lot to him.",
)


def statements(owner: EntityRef, *texts: str, **fields: Any) -> list[Statement]:
    """Facts of an owner, each of a source of its own and a day later; thresholds keep all of them apart."""
    return [
        Statement(
            text,
            owner=owner,
            source=SourceInput(external_id=f"{owner.entity_id}/{day}"),
            observe_time=START + timedelta(days=day),
            similarity_threshold=1.0,
            conflict_threshold=1.0,
            **fields,
        )
        for day, text in enumerate(texts)
    ]


@dataclass
class Believing:
    """A project with an observation about each of two people, one of which is retired."""

    service: RunningService
    client: Client
    project: str = "believing"

    def concord(self, *arguments: str) -> Ended:
        ended = run_concord(*arguments, "--target", self.service.target, "--project", self.project)
        assert ended.returncode == 0, ended.stderr
        return ended


@pytest.fixture(scope="module")
def believing(cli_service: RunningService) -> Iterator[Believing]:
    with Client(cli_service.target, project="believing") as client:
        told = statements(MARA, *PAINTING, domain="home", tags=["art", "calm"]) + statements(IDRIS, *THANKS)
        for statement in told:
            client.reconcile(statement)
        messages = list(client.consolidate(OBSERVE))
        assert messages[-1].update.state is RunState.SUCCEEDED  # type: ignore[union-attr]
        for day in range(len(THANKS)):
            client.withdraw_source(external_id=f"idris/{day}")
        yield Believing(cli_service, client)


def about(client: Client, **fields: Any) -> list[str]:
    """Ids of the people that the listed observations are about."""
    listed = client.list_observations(order_by="create_time", **fields)
    return sorted(each.owner.entity_id for each in listed if each.owner)


BOTH = (ObservationState.ACTIVE, ObservationState.RETIRED)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["mara"]),
        ({"states": [ObservationState.RETIRED]}, ["idris"]),
        ({"states": BOTH}, ["idris", "mara"]),
        ({"subject": MARA}, ["mara"]),
        ({"subject": IDRIS}, []),
        ({"subject": IDRIS, "states": BOTH}, ["idris"]),
        ({"domain": "home"}, ["mara"]),
        ({"domain": "work", "states": BOTH}, []),
        ({"tags": ["art"]}, ["mara"]),
        ({"tags": ["calm", "art"], "states": BOTH}, ["mara"]),
        ({"tags": ["art", "work"], "states": BOTH}, []),
        ({"access_scope": "", "states": BOTH}, ["idris", "mara"]),
        ({"access_scope": "team", "states": BOTH}, []),
    ],
)
def test_a_list_holds_what_its_filter_asks_for(believing: Believing, fields: dict[str, Any], expected: list[str]):
    assert about(believing.client, **fields) == expected


def test_pages_hold_every_observation_once(believing: Believing):
    first = believing.client.list_observations_page(states=BOTH, page_size=1)
    second = believing.client.list_observations_page(states=BOTH, page_size=1, page_token=first.next_page_token)
    assert (first.total_size, len(first.items), len(second.items)) == (2, 1, 1)
    assert second.next_page_token == ""
    assert {first.items[0].owner, second.items[0].owner} == {MARA, IDRIS}
    assert len(list(believing.client.list_observations(states=BOTH, page_size=1))) == 2


def test_an_observation_is_read_with_its_facts_and_its_history(believing: Believing):
    [listed] = believing.client.list_observations()
    found = believing.client.get_observation(listed.observation_id)
    assert found.observation == listed
    assert tuple(fact.text for fact in found.facts) == PAINTING
    assert (listed.proof_count, listed.text in PAINTING) == (2, True)
    assert (listed.first_time, listed.last_time) == (START, START + timedelta(days=1))
    [version] = believing.client.list_observation_versions(listed.observation_id)
    assert (version.action, version.observation.text) == (ObservationAction.CREATED, listed.text)
    for missing in (believing.client.get_observation, believing.client.list_observation_versions_page):
        with pytest.raises(NotFoundError):
            missing("019a0000-0000-7000-8000-00000000dead")


def test_what_lost_its_facts_is_retired_and_keeps_its_history(believing: Believing):
    [retired] = believing.client.list_observations(states=[ObservationState.RETIRED])
    assert (retired.proof_count, retired.text in THANKS) == (0, True)
    assert believing.client.get_observation(retired.observation_id).facts == ()
    versions = list(believing.client.list_observation_versions(retired.observation_id, page_size=1))
    assert [versions[0].action, versions[-1].action] == [ObservationAction.CREATED, ObservationAction.RETIRED]
    assert [each.observation.version for each in versions] == list(range(1, len(versions) + 1))


def test_searches_and_briefings_hold_observations_beside_facts(believing: Believing):
    client = believing.client
    [match] = client.search_observations("what makes Mara happy")
    assert match.observation.owner == MARA
    assert 0.3 <= match.similarity <= 1
    assert len(client.search_facts("what makes Mara happy")) == 2
    assert client.search_observations("thesis", FactFilter(owner=IDRIS)) == ()
    assert client.search_observations("painting", FactFilter(tag="calm")) == (
        *client.search_observations("painting"),
    )
    briefing = client.get_entity_briefing("Person", "mara")
    assert list(briefing.observations) == list(client.list_observations())
    assert briefing.observations[0].text in briefing.markdown
    assert not client.get_entity_briefing("Person", "idris").observations


def test_the_command_line_lists_shows_and_tells_the_history(believing: Believing):
    [listed] = rows(believing.concord("observations", "list", "--subject", "Person:mara", "--tag", "art"))
    assert (listed["owner"], listed["facts"], listed["state"]) == ("Person:mara", "2", "ACTIVE")
    assert {row["state"] for row in rows(believing.concord("observations", "list", "--retired"))} == {
        "ACTIVE",
        "RETIRED",
    }
    assert rows(believing.concord("observations", "list", "--domain", "work")) == []
    shown = believing.concord("observations", "show", listed["observation"])
    assert all(text in shown.stdout for text in PAINTING)
    as_json = json.loads(
        believing.concord("observations", "show", listed["observation"], "--output", "json").stdout
    )
    assert as_json["observation"]["proof_count"] == 2
    [version] = rows(believing.concord("observations", "history", listed["observation"]))
    assert (version["version"], version["action"], version["text"]) == ("1", "CREATED", listed["text"])


def asked_data(request: Received) -> dict[str, Any]:
    """What a model was shown of a batch."""
    data: dict[str, Any] = json.loads(request.user.removeprefix("<data>").removesuffix("</data>"))
    return data


def agreeing(request: Received) -> str:
    """Says that all facts of a batch agree."""
    facts = asked_data(request)["new_facts"]
    text = f"{len(facts)} facts agree: {facts[0]['text']}"
    created = {"text": text, "source_fact_ids": [fact["id"] for fact in facts], "reason": "they agree"}
    return json.dumps({"reasoning": "", "creates": [created], "updates": [], "merges": [], "retires": []})


def test_a_model_over_http_forms_observations_and_is_shown_one_group_at_a_time(tmp_path: Path):
    groups: list[dict[str, Any]] = [
        {},
        {"tags": ["art"]},
        {"domain": "home"},
        {"access_scope": "team"},
    ]
    with ModelServer(agreeing) as model:
        environment = {
            "CONCORD_LLM_BASE_URL": model.url,
            "CONCORD_LLM_MODEL": MODEL,
            "CONCORD_LLM_API_KEY": KEY,
        }
        with (
            running_service(tmp_path, environment=environment) as service,
            Client(service.target, project="model") as client,
        ):
            for number, group in enumerate(groups):
                texts = [f"Mara said {word} of group {number}." for word in ("one thing", "another matter")]
                for statement in statements(MARA, *texts, **group):
                    client.reconcile(statement)
            for statement in statements(IDRIS, "Idris is of group 4."):
                client.reconcile(statement)
            summary = list(client.consolidate(OBSERVE))[-1].update
            found = list(client.list_observations())
            facts = {fact.fact_id: fact.text for fact in client.list_facts()}
    assert summary.state is RunState.SUCCEEDED  # type: ignore[union-attr]
    assert summary.progress.model_calls == model.asked == 5  # type: ignore[union-attr]
    shown = [[fact["text"] for fact in asked_data(request)["new_facts"]] for request in model.received]
    assert sorted(map(len, shown)) == [1, 2, 2, 2, 2]
    for request, texts in zip(model.received, shown, strict=True):
        [group_number] = {text.rstrip(".").split()[-1] for text in texts}
        others = {"0", "1", "2", "3", "4"} - {group_number}
        assert not any(f"group {other}" in request.user for other in others)
    assert sorted(each.proof_count for each in found) == [1, 2, 2, 2, 2]
    for each in found:
        [told] = [texts for texts in shown if each.text.endswith(texts[0])]
        assert {facts[fact_id] for fact_id in each.source_fact_ids} == set(told)
