"""What calls about projects and their settings ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from concord.v1 import admin_pb2, admin_service_pb2

from concord_server.api.enums import CONTRADICTION_POLICY, JUDGE_MODE
from concord_server.api.paging import PageTokens
from concord_server.api.parsing.fields import parse_enum, parse_label, parse_page_size
from concord_server.api.parsing.idempotency import parse_idempotency
from concord_server.api.parsing.queries import PageQuery, parse_start
from concord_server.api.wellknown import to_timedelta
from concord_server.domain.commands import Violations
from concord_server.domain.errors import InvalidFieldsError
from concord_server.domain.project_settings import SETTABLE, OwnSettings, ProjectSettings
from concord_server.domain.projects import Project
from concord_server.domain.queries import FactOrder
from concord_server.domain.settings_update import PATHS, SettingsUpdate
from concord_server.services.context import Idempotency

CREATE_PROJECT_METHOD = "concord.v1.AdminService/CreateProject"
LIST_PROJECTS_METHOD = "concord.v1.AdminService/ListProjects"
UPDATE_SETTINGS_METHOD = "concord.v1.AdminService/UpdateProjectSettings"

_HORIZONS = "volatility_horizons"
_SHORT = {path.removeprefix("settings."): name for name, path in PATHS.items()}
_NAMES: dict[str, frozenset[str]] = {path: frozenset({name}) for path, name in _SHORT.items()} | {
    _HORIZONS: frozenset(name for path, name in _SHORT.items() if path.startswith(f"{_HORIZONS}."))
}
"""Which settings a path of a mask names."""

_FROM_JSON = {
    field.json_name: field.name
    for field in admin_pb2.ProjectSettings.DESCRIPTOR.fields
    if field.json_name != field.name
}


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What a caller wants changed; an empty ``etag`` means no check."""

    update: SettingsUpdate
    etag: str
    idempotency: Idempotency[ProjectSettings] | None


def parse_new_project(
    request: admin_service_pb2.CreateProjectRequest, encode: Callable[[Project], bytes]
) -> Idempotency[Project] | None:
    """Returns under which id the request may be repeated; the rest is the use case's to validate.

    Raises:
        InvalidFieldsError: the id is bad.
    """
    found = Violations()
    idempotency = parse_idempotency(CREATE_PROJECT_METHOD, request, request.request_id, encode, found)
    found.raise_if_any()
    return idempotency


def parse_list_projects(request: admin_service_pb2.ListProjectsRequest, project: str) -> PageQuery[None]:
    """Returns which page of projects to list.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    size = parse_page_size(request.page_size, found)
    tokens = PageTokens(project, LIST_PROJECTS_METHOD, request)
    return PageQuery(None, FactOrder(), parse_start(tokens, request.page_token, found), size, tokens)


def parse_settings_change(
    request: admin_service_pb2.UpdateProjectSettingsRequest, encode: Callable[[ProjectSettings], bytes]
) -> SettingsChange:
    """Returns what to change about settings; one that is named and not given returns to its default.

    Numbers and texts have no presence in the contract, so that 0 and the empty text are not given.

    Args:
        request: as received; its mask has names as in the proto or as in its JSON form.
        encode: turns the first answer into what is stored for repeated requests.

    Raises:
        InvalidFieldsError: some fields are bad; every one of them is named.
    """
    found = Violations()
    names = _parse_mask(request.update_mask.paths, found)
    change = SettingsChange(
        update=SettingsUpdate(names, _parse_values(request.settings, names, found)),
        etag=parse_label("etag", request.etag, found),
        idempotency=parse_idempotency(UPDATE_SETTINGS_METHOD, request, request.request_id, encode, found),
    )
    try:
        found.raise_if_any()
    except InvalidFieldsError:
        change.update.validate(found)
        found.raise_if_any()
    return change


def _parse_mask(paths: Iterable[str], found: Violations) -> frozenset[str]:
    names: set[str] = set()
    for given in paths:
        head, dot, rest = given.partition(".")
        path = f"{_FROM_JSON.get(head, head)}{dot}{rest}"
        if path in _NAMES:
            names |= _NAMES[path]
        else:
            found.add("update_mask", f"cannot change {given}; it can change {', '.join(sorted(_NAMES))}")
    if not names:
        found.add("update_mask", "must name at least one field")
    return frozenset(names)


def _parse_values(given: admin_pb2.ProjectSettings, names: frozenset[str], found: Violations) -> OwnSettings:
    """Returns the values of what the mask names."""

    def horizon(name: str) -> timedelta | None:
        horizons = given.volatility_horizons
        return to_timedelta(getattr(horizons, name)) if horizons.HasField(name) else None  # type: ignore[arg-type]

    unnamed = Violations()

    def of(name: str) -> Violations:
        return found if name in names else unnamed

    values = OwnSettings(
        similarity_threshold=given.similarity_threshold or None,
        conflict_threshold=given.conflict_threshold or None,
        merge_probability_threshold=given.merge_probability_threshold or None,
        supersede_probability_threshold=given.supersede_probability_threshold or None,
        contradiction_policy=parse_enum(
            PATHS["contradiction_policy"],
            given.contradiction_policy,
            CONTRADICTION_POLICY,
            of("contradiction_policy"),
        ),
        candidate_policy=parse_enum(
            PATHS["candidate_policy"], given.candidate_policy, CONTRADICTION_POLICY, of("candidate_policy")
        ),
        judge=parse_enum(PATHS["judge"], given.judge, JUDGE_MODE, of("judge")),
        extraction_prompt=given.extraction_prompt or None,
        judge_prompt=given.judge_prompt or None,
        observation_prompt=given.observation_prompt or None,
        max_facts_per_event=given.max_facts_per_event or None,
        max_model_calls_per_run=given.max_model_calls_per_run or None,
        daily_token_budget=given.daily_token_budget or None,
        slow_horizon=horizon("slow"),
        volatile_horizon=horizon("volatile"),
        ephemeral_horizon=horizon("ephemeral"),
    )
    return OwnSettings(**{name: getattr(values, name) for name in names & SETTABLE})
