from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from concord.v1 import enums_pb2, resources_pb2
from concord.v1.evolution_service_pb2 import WatchFactsRequest
from concord.v1.evolution_service_pb2_grpc import EvolutionServiceStub
from concord.v1.reconcile_service_pb2 import ReconcileRequest
from concord_server.api import server as server_module
from concord_server.api.server import GrpcServer
from concord_server.domain.enums import FactChange, FactStatus, SubjectRole
from concord_server.domain.model import EntityRef, Partition
from concord_server.services.watch import PAGE_SIZE

from tests.contract.scripted import Edge, Script, Waiting, failure
from tests.support.facts import NOON
from tests.support.watching import FakeTiming, MemoryLog, a_change, sequences, until

USER = EntityRef("User", "u1", SubjectRole.OBJECT)


@dataclass
class Watched:
    """A log, time, and a service that tells of the one by the other."""

    log: MemoryLog
    timing: FakeTiming
    edge: Edge

    async def watch(self, after: int | None = 0, project: str = "default", **fields: Any) -> Any:
        """Starts a watch and returns it once it has its place in the log."""
        request = WatchFactsRequest(after_sequence=after, **fields)
        call = self.edge.evolution.WatchFacts(request, metadata=[("x-concord-project", project)])
        await call.initial_metadata()
        return call


@pytest.fixture
def watched(script: Script, edge: Edge) -> Watched:
    return Watched(script.log, script.timing, edge)


async def read(call: Any, count: int) -> list[Any]:
    return [await call.read() for _ in range(count)]


async def settle() -> None:
    """Lets everything happen that needs no time to pass."""
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_changes_are_told_in_order_with_the_fact_as_it_was_then(watched: Watched):
    watched.log.append(
        a_change(1, text="Ada owns a bike"),
        a_change(2, FactChange.STATUS_CHANGED, text="Ada owns a car", status=FactStatus.RETRACTED),
    )
    one, two = await read(await watched.watch(), 2)
    assert (one.sequence, one.change, one.fact.text) == (1, enums_pb2.FACT_CHANGE_CREATED, "Ada owns a bike")
    assert (two.sequence, two.change) == (2, enums_pb2.FACT_CHANGE_STATUS_CHANGED)
    assert two.fact.status == enums_pb2.FACT_STATUS_RETRACTED
    assert one.time.ToDatetime(NOON.tzinfo) == NOON
    assert not one.heartbeat


async def test_a_watch_goes_on_as_the_log_grows(watched: Watched):
    call = await watched.watch()
    for sequence in range(1, 4):
        watched.log.fill(1)
        assert (await call.read()).sequence == sequence


async def test_a_watch_from_now_on_has_its_place_once_the_headers_are_there(watched: Watched):
    watched.log.fill(3)
    call = await watched.watch(after=None)
    watched.log.fill(1)
    assert (await call.read()).sequence == 4


async def test_a_watch_resumes_after_a_sequence(watched: Watched):
    watched.log.fill(5)
    assert sequences(await read(await watched.watch(after=3), 2)) == [4, 5]


async def test_more_than_a_page_is_told_without_a_gap(watched: Watched):
    count = 2 * PAGE_SIZE + PAGE_SIZE // 2
    watched.log.fill(count)
    assert sequences(await read(await watched.watch(), count)) == list(range(1, count + 1))


async def test_an_erased_fact_has_no_words(watched: Watched):
    watched.log.append(a_change(1, FactChange.ERASED, text="secret", tags=("secret",), status=FactStatus.DELETED))
    [told] = await read(await watched.watch(), 1)
    assert told.change == enums_pb2.FACT_CHANGE_ERASED
    assert b"secret" not in told.SerializeToString()


@pytest.mark.parametrize(
    "fields",
    [
        {"domain": "ops"},
        {"access_scope": "private"},
        {"changes": [enums_pb2.FACT_CHANGE_MERGED]},
        {"entity": resources_pb2.EntityRef(entity_type="User", entity_id="u1")},
        {"entity": resources_pb2.EntityRef(entity_type="User", entity_id="u9")},
    ],
)
async def test_what_a_filter_leaves_out_is_not_told(watched: Watched, fields: dict[str, Any]):
    watched.log.fill(3)
    watched.log.append(
        a_change(
            0,
            FactChange.MERGED,
            partition=Partition("private", "ops", owner_type="User", owner_id="u9"),
            subjects=(USER,),
        )
    )
    watched.log.fill(3)
    call = await watched.watch(**fields)
    assert (await call.read()).sequence == 4
    await settle()
    watched.timing.advance(15)
    assert (await call.read()).heartbeat, "and nothing else was told"


async def test_an_empty_scope_means_unscoped_facts_alone(watched: Watched):
    watched.log.append(a_change(0, partition=Partition(access_scope="private")), a_change(0))
    assert (await (await watched.watch(access_scope="")).read()).sequence == 2


async def test_a_heartbeat_comes_after_fifteen_seconds_of_silence_and_not_before(watched: Watched):
    call = await watched.watch()
    await settle()
    next_ = asyncio.ensure_future(call.read())
    watched.timing.advance(14.9)
    await settle()
    assert not next_.done()
    watched.timing.advance(0.1)
    beat = await next_
    assert (beat.heartbeat, beat.sequence, beat.HasField("fact"), beat.HasField("time")) == (True, 0, False, False)
    next_ = asyncio.ensure_future(call.read())
    await settle()
    watched.timing.advance(14.9)
    await settle()
    assert not next_.done(), "the silence begins anew"
    watched.timing.advance(0.1)
    assert (await next_).heartbeat


async def test_a_change_begins_the_silence_anew(watched: Watched):
    call = await watched.watch()
    await settle()
    watched.timing.advance(10)
    watched.log.fill(1)
    assert not (await call.read()).heartbeat
    await settle()
    next_ = asyncio.ensure_future(call.read())
    watched.timing.advance(14.9)
    await settle()
    assert not next_.done()
    watched.timing.advance(0.1)
    assert (await next_).heartbeat


async def test_changes_that_the_filter_leaves_out_are_silence(watched: Watched):
    call = await watched.watch(domain="ops")
    await settle()
    watched.timing.advance(10)
    watched.log.fill(3)
    await settle()
    watched.timing.advance(5)
    beat = await call.read()
    assert (beat.heartbeat, beat.sequence) == (True, 3), "it says up to where the log was read"
    assert watched.log.reads == 2, "a watch asks for nothing until it is woken"


async def test_a_client_that_resumes_from_a_heartbeat_misses_nothing(watched: Watched):
    watched.log.fill(250)
    call = await watched.watch(domain="ops")
    await settle()
    watched.timing.advance(15)
    beat = await call.read()
    call.cancel()
    watched.log.append(a_change(0, partition=Partition(domain="ops")))
    again = await watched.watch(after=beat.sequence, domain="ops")
    assert (beat.sequence, (await again.read()).sequence) == (250, 251)


async def test_a_sequence_that_is_no_longer_kept_is_refused(watched: Watched):
    watched.log.fill(10)
    watched.log.prune(4)
    failed = await failure(watched.edge.evolution.WatchFacts(WatchFactsRequest(after_sequence=3)).read())
    assert (failed.code, failed.reasons) == (grpc.StatusCode.OUT_OF_RANGE, ("SEQUENCE_NOT_KEPT",))
    assert "from 5 on" in failed.message
    assert (await (await watched.watch(after=4)).read()).sequence == 5


async def test_a_sequence_of_another_log_is_refused(watched: Watched):
    watched.log.fill(10)
    failed = await failure(watched.edge.evolution.WatchFacts(WatchFactsRequest(after_sequence=11)).read())
    assert (failed.code, failed.reasons) == (grpc.StatusCode.OUT_OF_RANGE, ("SEQUENCE_NOT_KEPT",))
    assert "ends at 10" in failed.message


async def test_a_watch_whose_next_changes_are_pruned_says_so_instead_of_passing_over_them(watched: Watched):
    call = await watched.watch()
    await settle()
    watched.log.append(*(a_change(0) for _ in range(9)), announce=False)
    watched.log.prune(5)
    watched.log.fill(1)
    failed = await failure(call.read())
    assert (failed.code, failed.reasons) == (grpc.StatusCode.OUT_OF_RANGE, ("SEQUENCE_NOT_KEPT",))


async def test_every_bad_field_is_named(watched: Watched):
    request = WatchFactsRequest(
        after_sequence=-1,
        domain="d" * 10_000,
        access_scope="\x00",
        changes=[99],  # type: ignore[list-item]
        entity=resources_pb2.EntityRef(entity_type="User"),
    )
    failed = await failure(watched.edge.evolution.WatchFacts(request).read())
    assert failed.code is grpc.StatusCode.INVALID_ARGUMENT
    named = {"after_sequence", "domain", "access_scope", "changes[0]", "entity.entity_id"}
    assert set(failed.fields) == named


async def test_projects_are_watched_apart(watched: Watched):
    other = await watched.watch(project="other")
    watched.log.fill(3)
    watched.log.append(a_change(0, text="elsewhere"), project="other")
    told = await other.read()
    assert (told.sequence, told.fact.text) == (1, "elsewhere")


async def test_a_hundred_watchers_share_their_reads_and_miss_nothing(watched: Watched):
    calls = [await watched.watch(domain=f"d{number % 4}") for number in range(100)]
    await settle()
    before = watched.log.reads
    for round_ in range(5):
        watched.log.append(*(a_change(0, partition=Partition(domain=f"d{number}")) for number in range(4)))
        told = await asyncio.gather(*(call.read() for call in calls))
        assert sequences(told) == [4 * round_ + 1 + number % 4 for number in range(100)]
    assert watched.log.reads - before < 20, "not one read for each watcher"


async def test_a_reader_that_takes_nothing_holds_nobody_up_and_nothing_is_piled_up_for_it(watched: Watched):
    pages = 20
    watched.log.fill(pages * PAGE_SIZE, text="x" * 8000)
    slow = await watched.watch()
    quick = await watched.watch()
    assert sequences(await read(quick, pages * PAGE_SIZE)) == list(range(1, pages * PAGE_SIZE + 1))
    read_for_slow = watched.log.reads - (pages + 1)
    assert read_for_slow < pages // 2, "what fits the buffers of the connection, and no more"
    assert sequences(await read(slow, pages * PAGE_SIZE)) == list(range(1, pages * PAGE_SIZE + 1))


async def test_a_caller_that_vanishes_is_no_fault_of_the_server(
    watched: Watched, capsys: pytest.CaptureFixture[str]
):
    watched.log.fill(30 * PAGE_SIZE, text="x" * 8000)
    async with grpc.aio.insecure_channel(watched.edge.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        call = EvolutionServiceStub(channel).WatchFacts(WatchFactsRequest(after_sequence=0))
        await call.read()
        await settle()
    await until(lambda: not watched.log.signals.projects())
    await settle()
    assert "internal error" not in capsys.readouterr().out


async def test_a_change_that_commits_during_a_read_is_not_lost(watched: Watched):
    first = await watched.watch()
    await settle()
    watched.log.gate.clear()
    watched.log.signals.wake("default")
    await settle()  # a read is under way, and does not see what follows
    watched.log.fill(1)
    second = await watched.watch()
    watched.log.gate.set()
    assert (await first.read()).sequence == 1
    assert (await second.read()).sequence == 1


async def test_a_watch_ends_with_unavailable_when_the_log_cannot_be_read(watched: Watched):
    call = await watched.watch()
    await settle()
    watched.log.down = True
    watched.log.fill(1)
    failed = await failure(call.read())
    assert (failed.code, failed.reasons, failed.retries) == (grpc.StatusCode.UNAVAILABLE, ("UNAVAILABLE",), 1)


async def test_a_caller_that_goes_away_is_forgotten(watched: Watched):
    call = await watched.watch()
    await settle()
    assert list(watched.log.signals.projects()) == ["default"]
    call.cancel()
    await until(lambda: not watched.log.signals.projects())


async def test_the_end_of_the_server_ends_watches_at_once(watched: Watched, server: GrpcServer):
    idle = [await watched.watch() for _ in range(20)]
    await settle()
    stopping = asyncio.ensure_future(server.stop(3600))
    for call in idle:
        failed = await failure(call.read())
        assert (failed.code, failed.reasons, failed.retries) == (grpc.StatusCode.UNAVAILABLE, ("UNAVAILABLE",), 1)
    await asyncio.wait_for(stopping, 60)


async def test_a_reader_that_takes_nothing_does_not_hold_up_the_end(watched: Watched, server: GrpcServer):
    for _ in range(30):
        watched.log.fill(PAGE_SIZE, text="x" * 8000)
    call = await watched.watch()
    await settle()
    await asyncio.wait_for(server.stop(3600), 60)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read(call, 30 * PAGE_SIZE)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_other_calls_may_finish_while_watches_end(watched: Watched, server: GrpcServer):
    waiting = Waiting()
    watched.edge.script.reconcile.answer = waiting
    answer = asyncio.ensure_future(watched.edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    await waiting.started.wait()
    for _ in range(30):
        watched.log.fill(PAGE_SIZE, text="x" * 8000)
    stuck = await watched.watch()
    idle = await watched.watch(after=30 * PAGE_SIZE)
    await settle()
    stopping = asyncio.ensure_future(server.stop(3600))
    assert (await failure(idle.read())).code is grpc.StatusCode.UNAVAILABLE
    await asyncio.sleep(1)
    assert not stopping.done()
    waiting.release.set()
    assert (await answer).fact.text
    await asyncio.wait_for(stopping, 60)
    del stuck


async def test_the_deadline_of_a_watch_is_its_callers(watched: Watched):
    call = watched.edge.evolution.WatchFacts(WatchFactsRequest(), timeout=0.3)
    assert (await failure(call.read())).code is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_client_that_pings_without_calls_is_not_taken_for_an_attacker(
    script: Script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server_module, "MIN_PING_INTERVAL_MS", 20)
    server = GrpcServer(script.use_cases())
    address = await server.start("127.0.0.1:0")
    pinging = [
        ("grpc.keepalive_time_ms", 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    async with grpc.aio.insecure_channel(address, pinging) as channel:
        await channel.channel_ready()
        await asyncio.sleep(5)  # by default a server bears two pings within five minutes
        state = channel.get_state()
    await server.stop(0)
    assert state is grpc.ChannelConnectivity.READY
