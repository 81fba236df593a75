"""Lineage, history, updates and withdrawals through the client and the command line, against a running service."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from concord import (
    AbortedError,
    AsyncClient,
    Client,
    EvolutionType,
    FactChange,
    FactStatus,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    SourceInput,
    Statement,
    Volatility,
)

from tests.support.cli import run_concord
from tests.support.service import RunningService

UNKNOWN = "019a0000-0000-7000-8000-000000000000"
SOURCE = SourceInput(url="https://t.example", credibility=0.9)


@pytest.fixture
def project() -> str:
    return f"evolution-{uuid.uuid4()}"


@pytest.fixture
def client(cli_service: RunningService, project: str) -> Iterator[Client]:
    with Client(cli_service.target, project=project) as opened:
        yield opened


def test_a_family_grows_and_is_read_from_every_side(client: Client):
    root = client.reconcile("The tower is 324 metres tall").fact
    refined = client.branch(
        [root.fact_id], "With its antenna it is 330 metres", evolution_type=EvolutionType.REFINEMENT
    )
    corrected = client.branch(
        [refined.fact.fact_id],
        Statement("With its antenna it is 331 metres", source=SOURCE),
        evolution_type=EvolutionType.CORRECTION,
    )
    last = corrected.fact
    assert (corrected.source.url if corrected.source else "") == "https://t.example"
    assert last.confidence == pytest.approx(0.88, abs=1e-4)
    line = [root.fact_id, refined.fact.fact_id, last.fact_id]
    assert [fact.fact_id for fact in client.get_evolution_chain(last.fact_id)] == line
    assert client.get_latest_in_chain(root.fact_id).fact_id == last.fact_id
    tree = client.get_evolution_tree(refined.fact.fact_id, page_size=2)
    assert [fact.fact_id for fact in tree.facts] == line
    assert [(edge.parent_id, edge.child_id) for edge in tree.edges] == list(pairwise(line))
    assert [fact.status for fact in client.batch_get_facts([*line, UNKNOWN]).facts] == [
        FactStatus.ACTIVE,
        FactStatus.SUPERSEDED,
        FactStatus.ACTIVE,
    ]


def test_a_fact_is_updated_under_its_etag_and_its_history_says_so(client: Client):
    fact = client.reconcile("The bridge is closed").fact
    left = datetime(2100, 1, 1, tzinfo=UTC)
    changed = client.update_fact(
        fact.fact_id, valid_to=left, tags=["a"], volatility=Volatility.SLOW, reason="planned", etag=fact.etag
    )
    assert (changed.valid_to, changed.tags, changed.volatility) == (left, ("a",), Volatility.SLOW)
    with pytest.raises(AbortedError) as stale:
        client.update_fact(fact.fact_id, tags=["b"], etag=fact.etag)
    assert stale.value.reason == "ETAG_MISMATCH"
    reopened = client.update_fact(fact.fact_id, valid_to=None)
    assert reopened.valid_to is None
    versions = list(client.list_fact_versions(fact.fact_id, page_size=1))
    assert [(version.change, version.reason) for version in versions[1:]] == [
        (FactChange.REVISED, "planned"),
        (FactChange.REVISED, ""),
    ]
    assert versions[-1].fact == reopened


def test_a_source_is_withdrawn(client: Client):
    fact = client.reconcile(Statement("The bridge is closed", source=SOURCE)).fact
    result = client.withdraw_source(url=SOURCE.url, reason="made up")
    assert (result.affected_count, result.disputed_fact_ids) == (1, (fact.fact_id,))
    with pytest.raises(NotFoundError) as gone:
        client.withdraw_source(url=SOURCE.url)
    assert gone.value.reason == "SOURCE_NOT_FOUND"


def test_a_withdrawal_under_one_request_id_is_done_once(client: Client):
    client.reconcile(Statement("The bridge is closed", source=SOURCE))
    request_id = str(uuid.uuid4())
    first = client.withdraw_source(url=SOURCE.url, request_id=request_id)
    client.reconcile(Statement("The shop is open", source=SOURCE))
    assert client.withdraw_source(url=SOURCE.url, request_id=request_id) == first


def test_what_must_be_refused_is_refused(client: Client):
    fact = client.reconcile(Statement("The bridge is closed", domain="bridges")).fact
    with pytest.raises(InvalidArgumentError) as elsewhere:
        client.branch([fact.fact_id], Statement("It is open", domain="shops"))
    assert elsewhere.value.reason == "PARTITION_MISMATCH"
    with pytest.raises(NotFoundError):
        client.branch([UNKNOWN], "It is open")
    for read in (client.get_evolution_chain, client.get_latest_in_chain, client.get_evolution_tree):
        with pytest.raises(NotFoundError):
            read(UNKNOWN)
    client.update_fact_status(fact.fact_id, FactStatus.DELETED)
    with pytest.raises(FailedPreconditionError):
        client.update_fact(fact.fact_id, tags=["a"])


async def test_the_asyncio_client_does_the_same(cli_service: RunningService, project: str):
    async with AsyncClient(cli_service.target, project=project) as client:
        root = (await client.reconcile(Statement("The tower is tall", source=SOURCE))).fact
        children = await asyncio.gather(
            *(client.branch([root.fact_id], f"It has {n + 2} lifts") for n in range(5))
        )
        tree = await client.get_evolution_tree(root.fact_id, page_size=2)
        assert {fact.fact_id for fact in tree.facts[1:]} == {child.fact.fact_id for child in children}
        assert len(tree.edges) == 5
        assert (await client.update_fact(root.fact_id, tags=["a"])).tags == ("a",)
        assert len([version async for version in client.list_fact_versions(root.fact_id)]) == 2
        assert (await client.withdraw_source(url=SOURCE.url)).affected_count == 1
        found = await client.batch_get_facts([root.fact_id, UNKNOWN])
        assert (found.facts[0].status, found.missing_ids) == (FactStatus.DISPUTED, (UNKNOWN,))


def test_the_command_line_draws_the_family_and_lists_the_history(client: Client, cli_service, project: str):
    root = client.reconcile("The tower is 324 metres tall").fact
    child = client.branch([root.fact_id], "It is 330 metres tall", evolution_type=EvolutionType.CORRECTION).fact
    connection = ("--target", cli_service.target, "--project", project)
    drawn = run_concord("facts", "tree", child.fact_id, *connection)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    first, second = drawn.stdout.splitlines()
    assert first.startswith("The tower is 324 metres tall  (SUPERSEDED  0.70")
    assert second.startswith("  It is 330 metres tall  (ACTIVE  0.70  correction")
    history = json.loads(run_concord("facts", "history", root.fact_id, "--output", "json", *connection).stdout)
    assert [version["fact"]["status"] for version in history] == ["ACTIVE", "SUPERSEDED"]
