"""Briefings, search, checks and entities through the client and the command line, as users reach them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from concord import (
    AsyncClient,
    Claim,
    ClaimSupport,
    Client,
    ContradictionPolicy,
    EntityRef,
    FactFilter,
    FactStatus,
    FactType,
    NotFoundError,
    Statement,
    SubjectRole,
)

from tests.support.cli import rows, run_concord
from tests.support.service import RunningService

GLOBEX = EntityRef("Company", "globex")


@pytest.fixture
def project() -> str:
    return f"reading-{uuid4()}"


def statements() -> list[Statement]:
    employees = [
        Statement(
            f"Globex employs {count} people",
            subjects=[GLOBEX],
            claim=Claim(subject="globex", predicate="employees", value=count),
            observe_time=datetime(2026, month, 1, tzinfo=UTC),
        )
        for month, count in ((1, 900), (2, 950))
    ]
    return [
        Statement("Globex makes turbines", subjects=[GLOBEX]),
        Statement("Globex will merge with Hooli", type=FactType.PREDICTION, subjects=[GLOBEX]),
        *employees,
    ]


@pytest.fixture
def filled(cli_service: RunningService, project: str) -> str:
    with Client(cli_service.target, project=project) as client:
        client.batch_reconcile(statements())
    return cli_service.target


def test_the_client_reads_briefings_and_rankings(filled: str, project: str):
    with Client(filled, project=project) as client:
        briefing = client.get_entity_briefing("Company", "globex", page_size=3)
        assert briefing.total_count == sum(briefing.by_type.values()) == sum(briefing.by_status.values()) == 4
        assert briefing.by_status == {FactStatus.ACTIVE: 3, FactStatus.SUPERSEDED: 1}
        rest = client.get_entity_briefing("Company", "globex", page_size=3, page_token=briefing.next_page_token)
        assert len({fact.fact_id for fact in (*briefing.facts, *rest.facts)}) == 4
        assert "Globex employs 950 people" in briefing.markdown
        ranked = list(client.list_noteworthy_facts(entity=GLOBEX, page_size=2))
        assert len(ranked) == 3
        for each in ranked:
            parts = each.confidence_part + each.source_part + each.recency_part
            assert each.score == pytest.approx(parts)


def test_the_client_searches_and_checks(filled: str, project: str):
    with Client(filled, project=project) as client:
        [found] = client.search_facts("how many people work there", FactFilter(entity=GLOBEX), top_k=1)
        assert found.fact.text == "Globex employs 950 people"
        past = FactFilter(as_of=datetime(2026, 1, 15, tzinfo=UTC))
        [found] = client.search_facts("how many people work there", past, top_k=1)
        assert found.fact.text == "Globex employs 900 people"
        claim = Claim(subject="globex", predicate="employees", value=950)
        assert client.check_claim(claim=claim).support == ClaimSupport.SUPPORTED
        old = Claim(subject="globex", predicate="employees", value=900)
        checked = client.check_claim(claim=old)
        assert (checked.support, len(checked.contradicting)) == (ClaimSupport.CONTRADICTED, 1)


def test_the_client_links_lists_and_merges_entities(filled: str, project: str):
    with Client(filled, project=project) as client:
        fact = client.reconcile(
            Statement("Globex Inc. has a plant in Turin", owner=EntityRef("Company", "globex-inc"))
        ).fact
        linked = client.link_entity(fact.fact_id, "City", "turin", role=SubjectRole.LOCATION)
        assert EntityRef("City", "turin", SubjectRole.LOCATION) in linked.subjects
        assert client.unlink_entity(fact.fact_id, "City", "turin").subjects == fact.subjects
        with pytest.raises(NotFoundError):
            client.link_entity(str(uuid4()), "City", "turin")
        counted = {entity.entity_id: entity.fact_count for entity in client.list_entities(page_size=1)}
        assert counted == {"globex": 4, "globex-inc": 1}
        merge = client.merge_entities("Company", "globex-inc", "globex")
        assert (merge.moved_count, merge.conflicts) == (1, ())
        assert client.get_entity_briefing("Company", "globex-inc").entity_id == "globex"


def test_conflicts_are_listed_by_scope_and_oldest_first(filled: str, project: str):
    with Client(filled, project=project) as client:
        for scope in ("a", "b"):
            for value in ("fr", "en"):
                statement = Statement(
                    f"Invoices are in {value}",
                    claim=Claim(subject="u1", predicate="language", value=value),
                    access_scope=scope,
                    contradiction_policy=ContradictionPolicy.CONFLICT,
                )
                client.reconcile(statement)
        oldest_first = list(client.list_conflicts(order_by="create_time"))
        assert [conflict.facts[0].access_scope for conflict in oldest_first] == ["a", "b"]
        assert list(client.list_conflicts()) == oldest_first[::-1]
        assert list(client.list_conflicts(access_scope="b")) == oldest_first[1:]


async def test_the_asyncio_client_reads_the_same(filled: str, project: str):
    async with AsyncClient(filled, project=project) as client:
        briefing = await client.get_entity_briefing("Company", "globex")
        found = await client.search_facts("turbines", top_k=1)
        checked = await client.check_claim("Globex makes turbines")
        entities = [entity async for entity in client.list_entities(entity_type="Company")]
    assert briefing.total_count == 4
    assert found[0].fact.text == "Globex makes turbines"
    assert checked.support == ClaimSupport.SUPPORTED
    assert [entity.fact_count for entity in entities] == [4]


def test_a_briefing_is_a_page_of_markdown(filled: str, project: str):
    ended = run_concord("brief", "Company", "globex", "--target", filled, "--project", project)
    assert ended.returncode == 0, ended.stderr
    first, *lines = ended.stdout.splitlines()
    assert first == "# globex (Company)"
    assert "## Current facts" in lines
    short = run_concord(
        "brief", "Company", "globex", "--max-tokens", "20", "--target", filled, "--project", project
    )
    assert len(short.stdout) <= 81
    as_json = run_concord(
        "brief", "Company", "globex", "--output", "json", "--target", filled, "--project", project
    )
    assert json.loads(as_json.stdout)["total_count"] == 4


def test_search_results_are_rows(filled: str, project: str):
    ended = run_concord("search", "turbines", "--limit", "2", "--target", filled, "--project", project)
    first, second = rows(ended)
    assert first["text"] == "Globex makes turbines"
    assert float(first["score"]) >= float(second["score"])
    nothing = run_concord("search", "?!", "--target", filled, "--project", project)
    assert nothing.returncode == 4
    assert "query" in nothing.stderr


def test_a_check_says_what_the_ledger_says(filled: str, project: str):
    claim = ("--claim", "globex", "employees", "900")
    ended = run_concord("check", *claim, "--target", filled, "--project", project)
    assert ended.returncode == 0, ended.stderr
    support, _, _, fact = [line.split("\t") for line in ended.stdout.splitlines()]
    assert support == ["support", "CONTRADICTED"]
    assert (fact[0], fact[-1]) == ("contradicts", "Globex employs 950 people")
    assert run_concord("check", "--target", filled).returncode == 2
