"""Projects and settings through the command line, and what a change does at once in every process."""

from __future__ import annotations

import asyncio
import json
import uuid

import pytest
from concord import (
    AsyncClient,
    Claim,
    Client,
    ContradictionPolicy,
    InvalidArgumentError,
    ReconcileAction,
    SettingsChange,
    Statement,
)

from tests.support.cli import Ended, rows, run_concord
from tests.support.service import RunningService, own_channel


@pytest.fixture
def project() -> str:
    return f"p-{uuid.uuid4()}"


def admin(service: RunningService, project: str, *arguments: str) -> Ended:
    return run_concord("admin", *arguments, "--target", service.target, "--project", project)


def test_projects_are_created_and_listed(cli_service: RunningService, project: str) -> None:
    created = admin(cli_service, "default", "projects", "create", project, "--name", "A team")
    assert created.returncode == 0, created.stderr
    again = admin(cli_service, "default", "projects", "create", project)
    assert (again.returncode, "exists already" in again.stderr) == (6, True)
    refused = admin(cli_service, "default", "projects", "create", "Not a name")
    assert (refused.returncode, "project_id" in refused.stderr) == (4, True)
    listed = rows(admin(cli_service, "default", "projects", "list", "--limit", "0"))
    assert [row["name"] for row in listed if row["project"] == project] == ["A team"]


def test_settings_are_shown_changed_and_reset(cli_service: RunningService, project: str) -> None:
    def settings(*arguments: str) -> Ended:
        return admin(cli_service, project, "settings", *arguments)

    def value(ended: Ended, name: str) -> str:
        assert ended.returncode == 0, ended.stderr
        return dict(line.split("\t") for line in ended.stdout.splitlines())[name]

    changed = settings("set", "slow_horizon", "90d")
    assert value(changed, "slow_horizon") == "90d"
    stale = settings("set", "judge", "model", "--etag", '"0"')
    assert (stale.returncode, "etag" in stale.stderr) == (6, True)
    assert value(settings("reset", "slow_horizon"), "slow_horizon") == "365d"
    as_json = json.loads(settings("show", "--output", "json").stdout)
    assert (as_json["slow_horizon"], as_json["update_time"]) == (365 * 86400, None)


async def test_a_change_reaches_every_process_within_seconds(two_processes: RunningService, project: str) -> None:
    """Connections are spread over the processes, so of many some lead to the one that did not make the change."""
    channels = [own_channel(two_processes.target) for _ in range(8)]
    clients = [AsyncClient(channel=channel, project=project) for channel in channels]
    for number, client in enumerate(clients):
        await client.reconcile(f"Each process reads the settings for statement {number}")
    await clients[0].update_project_settings(SettingsChange(conflict_threshold=0.7))
    async with asyncio.timeout(60):
        while True:
            if all([await goes_by_it(client) for client in clients]):
                break
            await asyncio.sleep(0.2)
    assert {(await client.get_project_settings()).conflict_threshold for client in clients} == {0.7}
    for channel in channels:
        await channel.close()


async def goes_by_it(client: AsyncClient) -> bool:
    """Whether a threshold below the project's new one is refused."""
    try:
        await client.reconcile(Statement("Something else entirely", similarity_threshold=0.65))
    except InvalidArgumentError:
        return True
    return False


def test_the_process_that_made_a_change_goes_by_it_at_once(cli_service: RunningService, project: str) -> None:
    def said(value: str) -> Statement:
        return Statement(f"Ada lives in {value}", claim=Claim("Ada", "city", value))

    with Client(cli_service.target, project=project) as client:
        client.reconcile(said("Madrid"))
        client.update_project_settings(SettingsChange(contradiction_policy=ContradictionPolicy.CONFLICT))
        assert client.reconcile(said("Oslo")).action is ReconcileAction.CONFLICTED
