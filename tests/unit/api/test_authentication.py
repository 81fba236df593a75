from __future__ import annotations

import asyncio

import pytest
from concord_server.api.authentication import OpenAuthenticator, current_call, enter_call
from concord_server.domain.enums import Trust
from concord_server.domain.errors import InvalidFieldsError
from concord_server.services.context import CallContext


async def authenticate(*pairs: tuple[str, str | bytes]) -> CallContext:
    return await OpenAuthenticator().authenticate(pairs)


async def test_without_metadata_the_project_is_the_default_one():
    assert await authenticate(("user-agent", "x")) == CallContext("default", "anonymous", Trust.TRUSTED)


@pytest.mark.parametrize("name", ["a", "case-r-001 x", "Team/42", "x" * 128])
async def test_the_project_is_the_one_that_the_metadata_names(name):
    assert (await authenticate(("x-concord-project", name))).project == name


@pytest.mark.parametrize("name", ["", " ", " a", "a ", "a\tb", "a\x7fb", "x" * 129, b"\xff\xfe\x00"])
async def test_a_malformed_project_is_refused_by_name(name):
    with pytest.raises(InvalidFieldsError) as caught:
        await authenticate(("x-concord-project", name))
    assert {violation.field for violation in caught.value.violations} == {"x-concord-project"}


async def test_two_projects_are_none():
    with pytest.raises(InvalidFieldsError, match="once"):
        await authenticate(("x-concord-project", "a"), ("x-concord-project", "a"))


async def test_each_task_has_the_caller_of_its_own_call():
    async def call(project: str) -> str:
        enter_call(CallContext(project))
        await asyncio.sleep(0)
        return current_call().project

    assert await asyncio.gather(*(asyncio.create_task(call(name)) for name in "abc")) == ["a", "b", "c"]


async def test_outside_of_a_call_there_is_no_caller():
    with pytest.raises(LookupError):
        current_call()
