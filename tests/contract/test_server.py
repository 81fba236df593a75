from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from concord.v1.reconcile_service_pb2 import ReconcileRequest
from concord_server.api.server import GrpcServer, ListenError, ServerOptions
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from tests.contract.scripted import Edge, Script, Waiting, failure

LIMIT = 10.0
"""Seconds within which what must happen happens, however slow the machine."""

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = {
    "concord.v1.ReconcileService",
    "concord.v1.ConsolidateService",
    "concord.v1.EvolutionService",
    "concord.v1.BriefingService",
    "concord.v1.AdminService",
}


@pytest.fixture
async def starting(script: Script, server: GrpcServer) -> AsyncIterator[Edge]:
    """A server that listens and is not ready."""
    address = await server.start("127.0.0.1:0")
    async with grpc.aio.insecure_channel(address) as channel:
        yield Edge(script, channel, address)


async def health(edge: Edge, service: str = "") -> Any:
    stub: Any = health_pb2_grpc.HealthStub(edge.channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status


def watch(edge: Edge) -> Any:
    stub: Any = health_pb2_grpc.HealthStub(edge.channel)
    return stub.Watch(health_pb2.HealthCheckRequest())


async def test_health_follows_readiness_overall_and_for_each_service(server: GrpcServer, starting: Edge):
    for ready in (False, True, False, True):
        server.set_ready(ready)
        for name in ("", *SERVICES):
            assert await health(starting, name) == (SERVING if ready else NOT_SERVING)


async def test_a_server_that_was_never_ready_says_so(starting: Edge):
    assert {await health(starting, name) for name in ("", *SERVICES)} == {NOT_SERVING}


async def test_an_unknown_service_is_unknown_to_health(starting: Edge):
    failed = await failure(health(starting, "concord.v1.Nothing"))
    assert failed.code is grpc.StatusCode.NOT_FOUND


async def test_watching_health_tells_each_change_and_ends_with_the_server(server: GrpcServer, starting: Edge):
    watching = watch(starting)
    assert (await watching.read()).status == NOT_SERVING
    server.set_ready(True)
    assert (await watching.read()).status == SERVING
    stopping = asyncio.create_task(server.stop(LIMIT * 10))
    assert (await watching.read()).status == NOT_SERVING
    assert await watching.read() is grpc.aio.EOF
    await asyncio.wait_for(stopping, LIMIT)


async def test_once_stopping_the_server_never_says_again_that_it_serves(server: GrpcServer, edge: Edge):
    edge.script.reconcile.answer = waiting = Waiting()
    watching = watch(edge)
    assert (await watching.read()).status == SERVING
    call = asyncio.ensure_future(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    await asyncio.wait_for(waiting.started.wait(), LIMIT)
    stopping = asyncio.create_task(server.stop(LIMIT * 10))
    assert (await watching.read()).status == NOT_SERVING
    server.set_ready(True)
    assert await watching.read() is grpc.aio.EOF
    waiting.release.set()
    await call
    await asyncio.wait_for(stopping, LIMIT)


async def test_a_running_call_finishes_while_new_ones_are_refused(server: GrpcServer, edge: Edge):
    edge.script.reconcile.answer = waiting = Waiting()
    running = asyncio.ensure_future(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    await asyncio.wait_for(waiting.started.wait(), LIMIT)
    watching = watch(edge)
    await watching.read()
    stopping = asyncio.create_task(server.stop(LIMIT * 10))
    assert (await watching.read()).status == NOT_SERVING
    async with grpc.aio.insecure_channel(edge.address) as channel:
        late = Edge(edge.script, channel, edge.address)
        failed = await failure(late.reconcile.Reconcile(ReconcileRequest(text="late"), timeout=LIMIT))
    assert failed.code is grpc.StatusCode.UNAVAILABLE
    assert not stopping.done()
    assert not running.done()
    waiting.release.set()
    assert (await running).fact.fact_id
    await asyncio.wait_for(stopping, LIMIT)
    assert len(edge.script.reconcile.calls) == 1


async def test_a_call_that_outlives_the_grace_period_is_cancelled(server: GrpcServer, edge: Edge):
    edge.script.reconcile.answer = waiting = Waiting()
    running = asyncio.ensure_future(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
    await asyncio.wait_for(waiting.started.wait(), LIMIT)
    await asyncio.wait_for(server.stop(0.2), LIMIT)
    await asyncio.wait_for(waiting.cancelled.wait(), LIMIT)
    failed = await failure(running)
    assert failed.code in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def test_stopping_again_does_nothing(server: GrpcServer, edge: Edge):
    await server.stop(1)
    await asyncio.wait_for(server.stop(1), LIMIT)


async def test_reflection_knows_every_service_and_its_methods(edge: Edge):
    def explore() -> tuple[set[str], set[str]]:
        with grpc.insecure_channel(edge.address) as channel:
            database = ProtoReflectionDescriptorDatabase(channel)
            file = database.FindFileContainingSymbol("concord.v1.ReconcileService")
            return set(database.get_services()), {method.name for method in file.service[0].method}

    services, methods = await asyncio.to_thread(explore)
    assert services == SERVICES | {"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert "StreamReconcile" in methods


async def test_an_explorer_that_stays_does_not_outlive_the_grace_period(server: GrpcServer, edge: Edge):
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    exploring = edge.raw.stream_stream(path)()
    await exploring.write(b"\x3a\x00")  # list_services
    assert await exploring.read()
    await asyncio.wait_for(server.stop(0.2), LIMIT)


async def test_the_bound_address_is_returned_for_port_0(starting: Edge):
    host, port = starting.address.rsplit(":", 1)
    assert host == "127.0.0.1"
    assert int(port) > 0


@pytest.mark.parametrize("listen", ["", "50051", ":50051", "localhost", "localhost:", "localhost:x", "unix:/a"])
async def test_what_is_no_address_is_refused(server: GrpcServer, listen):
    with pytest.raises(ListenError, match="HOST:PORT"):
        await server.start(listen)


async def test_a_taken_port_is_refused(script: Script, edge: Edge):
    other = GrpcServer(script.use_cases())
    with pytest.raises(ListenError, match=f"cannot listen on {edge.address}"):
        await other.start(edge.address)


async def test_a_port_can_be_shared_when_asked(script: Script):
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
        servers = [GrpcServer(script.use_cases(), ServerOptions(reuse_port=True)) for _ in range(2)]
        for server in servers:
            assert await server.start(address) == address
        async with grpc.aio.insecure_channel(address) as channel:
            assert await Edge(script, channel, address).reconcile.Reconcile(ReconcileRequest(text="x"))
        for server in servers:
            await server.stop(0)


async def test_a_message_above_the_limit_is_refused(script: Script):
    server = GrpcServer(script.use_cases(), ServerOptions(max_message_bytes=1000))
    address = await server.start("127.0.0.1:0")
    async with grpc.aio.insecure_channel(address) as channel:
        failed = await failure(
            Edge(script, channel, address).reconcile.Reconcile(ReconcileRequest(text="x" * 2000))
        )
    await server.stop(0)
    assert failed.code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_calls_beyond_the_limit_are_refused(script: Script):
    script.reconcile.answer = waiting = Waiting()
    server = GrpcServer(script.use_cases(), ServerOptions(max_concurrent_calls=1))
    address = await server.start("127.0.0.1:0")
    async with grpc.aio.insecure_channel(address) as channel:
        edge = Edge(script, channel, address)
        first = asyncio.ensure_future(edge.reconcile.Reconcile(ReconcileRequest(text="x")))
        await asyncio.wait_for(waiting.started.wait(), LIMIT)
        failed = await failure(edge.reconcile.Reconcile(ReconcileRequest(text="y")))
        assert failed.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        waiting.release.set()
        await first
    await server.stop(0)
