"""The protos say what the contract fixes, and the stubs are what the protos generate."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from concord.v1 import (
    admin_service_pb2,
    briefing_service_pb2,
    consolidate_service_pb2,
    error_reason_pb2,
    evolution_service_pb2,
    reconcile_service_pb2,
)
from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor, MethodDescriptor

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CONCORD_SHARED", ROOT.parent / "shared"))
CONTRACT = SHARED / "design" / "contract.md"
CASES = SHARED / "cases"
POOL = descriptor_pool.Default()
SERVICES = {
    name: module.DESCRIPTOR.services_by_name[name]
    for name, module in {
        "ReconcileService": reconcile_service_pb2,
        "ConsolidateService": consolidate_service_pb2,
        "EvolutionService": evolution_service_pb2,
        "BriefingService": briefing_service_pb2,
        "AdminService": admin_service_pb2,
    }.items()
}
METHODS = [method for service in SERVICES.values() for method in service.methods]

# Presence of scalars is part of the contract: these, and no others, tell "absent" from "zero".
OPTIONAL = {
    "after_sequence",
    "access_scope",
    "credibility",
    "similarity",
    "similarity_threshold",
    "conflict_threshold",
    "merge_probability_threshold",
}
WRITES = re.compile(
    "^(Reconcile|Withdraw|Resolve|Append|Consolidate|Start|Cancel|Retry|Branch|Update|Link|Unlink|Merge|Create"
    "|Revoke|Erase|Reembed)"
)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def messages() -> list[Any]:
    files = {method.input_type.file for method in METHODS}
    todo = [*files]
    while todo:
        for dependency in todo.pop().dependencies:
            if dependency.package == "concord.v1" and dependency not in files:
                files.add(dependency)
                todo.append(dependency)
    return [message for file in files for message in file.message_types_by_name.values()]


def enum(name: str) -> EnumDescriptor:
    return POOL.FindEnumTypeByName(f"concord.v1.{name}")


def test_checked_in_stubs_are_current() -> None:
    assert script("generate_protos").main(["--check"]) == 0


def test_check_notices_missing_changed_and_left_over_files(tmp_path: Path) -> None:
    fresh, checked_in = tmp_path / "fresh", tmp_path / "checked_in"
    for folder, files in ((fresh, {"same": "1", "changed": "1", "new": "1"}),
                          (checked_in, {"same": "1", "changed": "2", "old": "1"})):  # fmt: skip
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    assert script("generate_protos").stale_files(fresh, checked_in) == ["changed", "new", "old"]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.containing_service.name}.{m.name}")
def test_each_rpc_has_its_own_request_and_response(method: MethodDescriptor) -> None:
    assert method.input_type.name == f"{method.name}Request"
    assert method.output_type.name == f"{method.name}Response"


@pytest.mark.parametrize("method", [m for m in METHODS if m.name.startswith("List")], ids=lambda m: m.name)
def test_each_list_is_paged(method: MethodDescriptor) -> None:
    assert {"page_size", "page_token"} <= set(method.input_type.fields_by_name)
    assert {"next_page_token", "total_size"} <= set(method.output_type.fields_by_name)


@pytest.mark.parametrize("method", [m for m in METHODS if WRITES.match(m.name)], ids=lambda m: m.name)
def test_each_write_can_be_repeated_by_request_id(method: MethodDescriptor) -> None:
    assert "request_id" in method.input_type.fields_by_name


def test_only_the_fields_that_the_contract_marks_have_presence() -> None:
    with_presence = {
        field.name
        for message in messages()
        for field in message.fields
        if field.has_presence
        and field.type != FieldDescriptor.TYPE_MESSAGE
        and (field.containing_oneof is None or field.containing_oneof.name == f"_{field.name}")
    }
    assert with_presence == OPTIONAL


def test_enum_values_carry_their_prefix_and_start_unspecified() -> None:
    enums = {field.enum_type for message in messages() for field in message.fields if field.enum_type}
    assert len(enums) >= 25
    for descriptor in (*enums, error_reason_pb2.DESCRIPTOR.enum_types_by_name["ErrorReason"]):
        prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", descriptor.name).upper() + "_"
        assert descriptor.values_by_number[0].name == f"{prefix}UNSPECIFIED"
        assert all(value.name.startswith(prefix) for value in descriptor.values)


@pytest.mark.skipif(not CONTRACT.is_file(), reason=f"no contract at {CONTRACT}")
def test_enums_are_those_of_the_contract() -> None:
    table = CONTRACT.read_text(encoding="utf-8").split("## Enums")[1].split("## Shared messages")[0]
    rows = re.findall(r"^\| (\w+) \| ([A-Z].*?) \|$", table, re.MULTILINE)
    assert len(rows) == 25
    for name, values in rows:
        prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_"
        wanted = re.findall(r"[A-Z][A-Z_]+", re.sub(r"\(.*?\)", "", values))
        assert [v.name.removeprefix(prefix) for v in enum(name).values] == ["UNSPECIFIED", *wanted], name


@pytest.mark.skipif(not CONTRACT.is_file(), reason=f"no contract at {CONTRACT}")
def test_rpcs_are_those_of_the_contract() -> None:
    text = CONTRACT.read_text(encoding="utf-8")
    for name, service in SERVICES.items():
        section = text.split(f"## {name}")[1].split("\n## ")[0]
        if name == "AdminService":
            wanted = set(
                re.findall(r"\b(?:Create|List|Get|Update|Revoke|Erase|Export|Import)[A-Z]\w+|Reembed", section)
            )
        else:
            rows = [row.split("|")[1] for row in section.splitlines() if row.startswith("| ")][1:]
            wanted = {rpc.strip() for row in rows for rpc in row.split("/")} - {"---"}
        assert {method.name for method in service.methods} == wanted


def steps(data: Any) -> list[dict[str, Any]]:
    """Every call of a case file, those that run in parallel included."""
    if isinstance(data, list):
        return [step for item in data for step in steps(item)]
    if isinstance(data, dict):
        return ([data] if "call" in data else []) + steps([data.get("steps", []), data.get("parallel", [])])
    return []


def filled(data: Any) -> Any:
    """The request with its placeholders replaced by something of the right form."""
    if isinstance(data, dict):
        return {key: filled(value) for key, value in data.items()}
    if isinstance(data, list):
        return [filled(value) for value in data]
    if isinstance(data, str) and "${" in data:
        return re.sub(r"\$\{now[^}]*\}", "2026-01-01T00:00:00Z", data) if "${now" in data else "7"
    return data


def unknown_fields(want: Any, message: Any, at: str) -> list[str]:
    """Names in an expectation that the message type lacks."""
    if isinstance(want, list):
        return [bad for item in want for bad in unknown_fields(item, message, at)]
    if not isinstance(want, dict) or message.full_name.startswith("google.protobuf."):
        return []
    found = []
    for key, value in want.items():
        if key == "$len":
            continue
        if key.startswith("$"):
            found += unknown_fields(value["of"] if key == "$count" else value, message, at)
        elif key not in message.fields_by_name:
            found.append(f"{at}.{key}")
        elif (inner := message.fields_by_name[key].message_type) and not inner.GetOptions().map_entry:
            found += unknown_fields(value, inner, f"{at}.{key}")
    return found


@pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")
def test_each_call_of_the_cases_fits_the_messages() -> None:
    seen = 0
    for file in sorted(CASES.glob("*.yaml")):
        for step in steps(yaml.safe_load(file.read_text(encoding="utf-8"))):
            service, method_name = step["call"].split(".")
            method = SERVICES[service].methods_by_name[method_name]
            request_type = message_factory.GetMessageClass(method.input_type)
            request = filled(step.get("request", {}))
            for item in request if isinstance(request, list) else [request]:
                json_format.ParseDict(item, request_type())
            bad = unknown_fields(step.get("expect", {}), method.output_type, step["call"])
            assert not bad, f"{file.name}: {bad}"
            seen += 1
    assert seen > 100


def test_ids_survive_the_json_form_of_a_sequence() -> None:
    """64-bit integers are text in JSON: what a caller reads it can send back."""
    response = evolution_service_pb2.WatchFactsResponse(sequence=2**60)
    text = json_format.MessageToDict(response)["sequence"]
    request = json_format.ParseDict({"after_sequence": text}, evolution_service_pb2.WatchFactsRequest())
    assert (text, request.after_sequence) == (str(2**60), 2**60)


def test_an_absent_scope_and_an_empty_one_differ() -> None:
    everything = briefing_service_pb2.ListFactsRequest()
    unscoped = briefing_service_pb2.ListFactsRequest(access_scope="")
    assert not everything.HasField("access_scope")
    assert unscoped.HasField("access_scope")
