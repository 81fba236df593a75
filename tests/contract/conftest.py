from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest
from concord_server.api.server import GrpcServer

from tests.contract.scripted import Edge, Script


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def server(script: Script) -> AsyncIterator[GrpcServer]:
    """A server that a test starts and stops as it likes."""
    server = GrpcServer(script.use_cases())
    yield server
    await server.stop(0)


@pytest.fixture
async def edge(script: Script, server: GrpcServer) -> AsyncIterator[Edge]:
    """A running, ready server on a port of its own, and a channel to it."""
    address = await server.start("127.0.0.1:0")
    server.set_ready(True)
    async with grpc.aio.insecure_channel(address) as channel:
        yield Edge(script, channel, address)
