"""``concord facts tree`` and ``concord facts history``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest
from concord.v1 import enums_pb2, evolution_service_pb2, evolution_service_pb2_grpc, resources_pb2
from concord_server.cli import output
from concord_server.cli.failures import ExitCode
from google.protobuf import timestamp_pb2
from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from .conftest import make_fact, make_status

ROOT, LEFT, RIGHT, BELOW = (f"019a0000-0000-7000-8000-0000000000{n:02}" for n in range(1, 5))


def edge(parent: str, child: str, how: int = enums_pb2.EVOLUTION_TYPE_REFINEMENT) -> resources_pb2.EvolutionEdge:
    return resources_pb2.EvolutionEdge(parent_id=parent, child_id=child, evolution_type=how)  # type: ignore[arg-type]


class FakeEvolution(evolution_service_pb2_grpc.EvolutionServiceServicer):
    """Knows one family, in small pages, and one history.

    Attributes:
        failure: ends every call with this status.
    """

    def __init__(self) -> None:
        self.target = ""
        self.page = 2
        self.failure: status_pb2.Status | None = None
        self.facts = [
            make_fact(fact_id=ROOT, text="The tower is 324 metres tall"),
            make_fact(fact_id=LEFT, text="With its antenna", confidence=0.7),
            make_fact(fact_id=RIGHT, text="", status=enums_pb2.FACT_STATUS_DELETED),
            make_fact(fact_id=BELOW, text="Both\x1b[31m"),
        ]
        self.edges = [
            edge(ROOT, LEFT),
            edge(ROOT, RIGHT, enums_pb2.EVOLUTION_TYPE_CORRECTION),
            edge(LEFT, BELOW, enums_pb2.EVOLUTION_TYPE_MERGE),
            edge(RIGHT, BELOW, enums_pb2.EVOLUTION_TYPE_MERGE),
        ]

    def _fail(self, context: grpc.ServicerContext) -> None:
        if self.failure is not None:
            context.abort_with_status(rpc_status.to_status(self.failure))

    def GetEvolutionTree(self, request, context):  # noqa: N802
        self._fail(context)
        start = int(request.page_token or 0)
        page = self.facts[start : start + self.page]
        ids = {fact.fact_id for fact in page}
        return evolution_service_pb2.GetEvolutionTreeResponse(
            facts=page,
            edges=[one for one in self.edges if one.child_id in ids],
            next_page_token=str(start + self.page) if start + self.page < len(self.facts) else "",
            total_size=len(self.facts),
        )

    def ListFactVersions(self, request, context):  # noqa: N802
        self._fail(context)
        first = make_fact(fact_id=request.fact_id, version=1)
        second = make_fact(fact_id=request.fact_id, version=2, status=enums_pb2.FACT_STATUS_RETRACTED)
        changed = timestamp_pb2.Timestamp(seconds=1_740_909_600)
        return evolution_service_pb2.ListFactVersionsResponse(
            versions=[
                resources_pb2.FactVersion(
                    fact=first,
                    change=enums_pb2.FACT_CHANGE_CREATED,
                    actor="anna",
                    recorded_from=timestamp_pb2.Timestamp(seconds=1_740_906_000),
                    recorded_to=changed,
                ),
                resources_pb2.FactVersion(
                    fact=second,
                    change=enums_pb2.FACT_CHANGE_STATUS_CHANGED,
                    actor="ben",
                    reason="was\twrong",
                    recorded_from=changed,
                ),
            ],
            total_size=2,
        )


@pytest.fixture
def family() -> Iterator[FakeEvolution]:
    fake = FakeEvolution()  # type: ignore[abstract]  # the others answer UNIMPLEMENTED
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    evolution_service_pb2_grpc.add_EvolutionServiceServicer_to_server(fake, server)
    fake.target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield fake
    server.stop(None).wait()


@pytest.fixture
def facts(concord, family: FakeEvolution):
    """Runs ``concord facts`` against that service."""
    return lambda *arguments: concord("facts", *arguments, "--target", family.target)


@pytest.fixture
def terminal(monkeypatch):
    """Lays results out as on a terminal of 160 columns, without colours."""
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")


def test_a_family_is_indented_lines_when_piped_each_fact_below_its_first_parent(facts):
    ended = facts("tree", BELOW)
    assert ended.code == ExitCode.OK
    assert ended.out.splitlines() == [
        f"The tower is 324 metres tall  (ACTIVE  0.88  since 2025-03-02  {ROOT})",
        f"  With its antenna  (ACTIVE  0.70  refinement  since 2025-03-02  {LEFT})",
        f"    Both\\x1b[31m  (ACTIVE  0.88  merge  since 2025-03-02  also from {RIGHT}  {BELOW})",
        f"  (erased)  (DELETED  0.88  correction  since 2025-03-02  {RIGHT})",
    ]


def test_a_family_is_a_tree_on_a_terminal(facts, terminal):
    lines = facts("tree", LEFT).out.splitlines()
    assert [line.rstrip() for line in lines] == [
        "The tower is 324 metres tall",
        f"ACTIVE  0.88  since 2025-03-02  {ROOT}",
        "├── With its antenna",
        f"│   ACTIVE  0.70  refinement  since 2025-03-02  {LEFT}",
        "│   └── Both\\x1b[31m",
        f"│       ACTIVE  0.88  merge  since 2025-03-02  also from {RIGHT}  {BELOW}",
        "└── (erased)",
        f"    DELETED  0.88  correction  since 2025-03-02  {RIGHT}",
    ]


def test_every_root_begins_a_tree_of_its_own(facts, family, terminal):
    family.edges = [edge(LEFT, BELOW)]
    out = facts("tree", LEFT).out
    assert [line for line in out.splitlines() if "──" in line] == ["└── Both\\x1b[31m"]
    assert "The tower is 324 metres tall" in out


def test_a_family_that_goes_in_a_circle_is_drawn_once(facts, family):
    family.edges = [edge(ROOT, LEFT), edge(LEFT, ROOT), edge(ROOT, RIGHT), edge(RIGHT, BELOW)]
    lines = facts("tree", ROOT).out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("The tower")


def test_a_deep_family_is_drawn_without_recursion(facts, family):
    family.facts = [make_fact(fact_id=f"{n}", text=f"fact {n}") for n in range(3000)]
    family.edges = [edge(f"{n}", f"{n + 1}") for n in range(2999)]
    family.page = 1000
    lines = facts("tree", "0").out.splitlines()
    assert (len(lines), lines[-1].strip().split("  ")[0]) == (3000, "fact 2999")


def test_a_family_as_json_has_facts_and_edges(facts):
    document = json.loads(facts("tree", ROOT, "--output", "json").out)
    assert [fact["fact_id"] for fact in document["facts"]] == [ROOT, LEFT, RIGHT, BELOW]
    assert document["edges"][0] == {"parent_id": ROOT, "child_id": LEFT, "evolution_type": "REFINEMENT"}


def test_a_history_is_rows_when_piped(facts):
    header, first, second = facts("history", ROOT).rows
    assert dict(zip(header, first, strict=True)) == {
        "version": "1",
        "recorded_from": "2025-03-02T09:00:00Z",
        "recorded_to": "2025-03-02T10:00:00Z",
        "change": "CREATED",
        "status": "ACTIVE",
        "confidence": "0.88",
        "valid_from": "2025-03-02T09:00:00Z",
        "valid_to": "",
        "actor": "anna",
        "reason": "",
        "text": "Nora leads Tendril.",
    }
    changed = dict(zip(header, second, strict=True))
    assert (changed["status"], changed["recorded_to"]) == ("RETRACTED", "")
    assert (changed["actor"], changed["reason"]) == ("ben", "was\\twrong")


def test_a_history_on_a_terminal_is_a_table(facts, terminal):
    lines = facts("history", ROOT).out.splitlines()
    assert lines[0].split()[:4] == ["version", "recorded_from", "recorded_to", "change"]
    assert len(lines) >= 3


def test_a_history_as_json_is_a_list(facts):
    versions = json.loads(facts("history", ROOT, "--output", "json").out)
    assert [version["change"] for version in versions] == ["CREATED", "STATUS_CHANGED"]


@pytest.mark.parametrize("command", ["tree", "history"])
def test_an_unknown_fact_has_its_exit_code(facts, family, command):
    family.failure = make_status(grpc.StatusCode.NOT_FOUND, "fact x does not exist", reason="FACT_NOT_FOUND")
    ended = facts(command, ROOT)
    assert (ended.code, ended.out, ended.err) == (ExitCode.NOT_FOUND, "", "concord: fact x does not exist\n")
