from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import concord

CLIENT = Path(__file__).resolve().parents[3] / "clients" / "python"

FORBID = """
import importlib.abc
import sys

class Forbid(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {"torch", "numpy", "sqlalchemy", "psycopg", "pydantic", "onnxruntime",
                                      "concord_server", "grpc_tools", "grpc_reflection", "grpc_health"}:
            raise ImportError(f"{name} is not a dependency of the client")

sys.meta_path.insert(0, Forbid())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_everything_exported_exists_and_is_sorted_out_once() -> None:
    assert len(concord.__all__) == len(set(concord.__all__))
    for name in concord.__all__:
        assert hasattr(concord, name), name


def test_every_public_class_of_the_library_is_exported() -> None:
    from concord import admin, client, enums, errors, events, inputs, resources, results

    for module in (admin, client, enums, errors, events, inputs, resources, results):
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__ and not name.startswith("_"):
                assert name in concord.__all__ or name == "Unset", f"{module.__name__}.{name}"


def test_the_client_imports_without_the_server_and_its_dependencies() -> None:
    modules = "concord, concord.v1.admin_service_pb2_grpc, concord.v1.consolidate_service_pb2_grpc"
    done = run(f"{FORBID}\nimport {modules}\nprint(len(concord.__all__))")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(concord.__all__)


def test_the_guard_of_that_test_works() -> None:
    assert "not a dependency" in run(f"{FORBID}\nimport numpy").stderr


def test_the_version_is_that_of_the_distribution() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["version"]) == ("concord-client", concord.__version__)


def test_the_distribution_needs_grpc_and_protobuf_alone() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    assert names == {"grpcio", "grpcio-status", "protobuf", "googleapis-common-protos"}
    assert (CLIENT / "concord" / "py.typed").is_file()


def test_the_examples_of_the_readme_use_what_exists() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        tree = ast.parse(f"async def example():\n{textwrap.indent(block, '    ')}")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert {alias.name for alias in node.names} <= set(concord.__all__)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "client":
                assert hasattr(concord.Client, node.attr), node.attr
