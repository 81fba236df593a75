#!/usr/bin/env python3
"""Generates the Python stubs of ``protos/`` into ``clients/python/concord/v1``.

    python scripts/generate_protos.py            write them
    python scripts/generate_protos.py --check    fail when what is checked in is stale

Messages, gRPC stubs and the types of both (``.pyi``, synchronous and asyncio). Needs grpcio-tools and
mypy-protobuf at the versions that pyproject.toml pins: another version writes other code, which ``--check`` would
call stale.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

import grpc_tools  # type: ignore[import-untyped]
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
VENDORED = ROOT / "third_party" / "googleapis"
OUTPUT = ROOT / "clients" / "python"
PACKAGE = Path("concord") / "v1"
INIT = '"""Generated stubs of the ``concord.v1`` services; ``scripts/generate_protos.py`` writes them."""\n'


def generate(target: Path) -> None:
    """Writes the package ``concord/v1`` below ``target``.

    Raises:
        SystemExit: protoc refused the protos; it has printed why.
    """
    scripts = Path(sysconfig.get_path("scripts"))
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    sources = sorted(path.relative_to(PROTOS).as_posix() for path in (PROTOS / PACKAGE).glob("*.proto"))
    status = protoc.main(
        [
            "protoc",
            *(f"--proto_path={path}" for path in (PROTOS, VENDORED, well_known)),
            *(f"--plugin={name}={scripts / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")),
            f"--python_out={target}",
            f"--mypy_out=quiet:{target}",
            f"--grpc_python_out={target}",
            f"--mypy_grpc_out=quiet:{target}",
            *sources,
        ]
    )
    if status != 0:
        raise SystemExit(int(status))
    for path in (target / PACKAGE).glob("*_pb2_grpc.py*"):
        # A file of messages alone has no service: its gRPC module would be empty.
        if not path.name.split("_pb2_grpc")[0].endswith("_service"):
            path.unlink()
    (target / PACKAGE / "__init__.py").write_text(INIT, encoding="utf-8")


def stale_files(fresh: Path, checked_in: Path) -> list[str]:
    """Returns the names of files that are missing, left over or different in ``checked_in``, sorted."""
    wanted = {path.name for path in fresh.iterdir()}
    found = {path.name for path in checked_in.iterdir() if path.is_file()} if checked_in.is_dir() else set()
    _, differing, unreadable = filecmp.cmpfiles(fresh, checked_in, wanted & found, shallow=False)
    return sorted({*(wanted ^ found), *differing, *unreadable})


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status: 1 when ``--check`` finds stale files."""
    parser = argparse.ArgumentParser(description="Generates the Python stubs of protos/.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the stubs are stale")
    options = parser.parse_args(arguments)
    checked_in = OUTPUT / PACKAGE
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh = Path(folder) / PACKAGE
        stale = stale_files(fresh, checked_in)
        if options.check:
            for name in stale:
                print(f"stale: {(checked_in / name).relative_to(ROOT)}", file=sys.stderr)
            if stale:
                print("run: python scripts/generate_protos.py", file=sys.stderr)
            return 1 if stale else 0
        checked_in.mkdir(parents=True, exist_ok=True)
        for name in stale:
            if (fresh / name).exists():
                shutil.copyfile(fresh / name, checked_in / name)
            else:
                (checked_in / name).unlink()
    print(f"{len(stale)} files changed in {checked_in.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
