"""Where exported models lie and what describes them.

An exported model is a directory: `model.onnx` with its weights in `model.onnx.data` (mapped into memory, so that
processes on one machine share them), `tokenizer.json` with truncation and padding set, and `model.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

DEFAULT_MODEL = "all-MiniLM-L6-v2"

EXPORT_VERSION = 1
"""Raised whenever the export changes what the files hold or what a vector is; older ones are then made again."""

GRAPH_FILE = "model.onnx"
WEIGHTS_FILE = "model.onnx.data"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "model.json"


class ModelNotFoundError(Exception):
    """No usable export of the model; the message says which command makes one."""


class ExportError(Exception):
    """The model cannot be exported; the message says why."""


@dataclass(frozen=True, slots=True)
class ModelManifest:
    """What `model.json` says.

    Attributes:
        name: the model's name, as stored with the vectors it makes.
        source: identifies the weights that were exported; another value means that they changed.
        dimension: length of a vector.
        max_seq_length: tokens of a text that count, special tokens included; the rest is cut off.
        prompt: put before every text; empty for most models.
        export_version: `EXPORT_VERSION` at the export.
        sha256: digest in hexadecimal by file name.
    """

    name: str
    source: str
    dimension: int
    max_seq_length: int
    prompt: str
    export_version: int
    sha256: Mapping[str, str]

    def __post_init__(self) -> None:
        """Refuses values of another type: the file may come from anywhere."""
        texts = (self.name, self.source, self.prompt)
        numbers = (self.dimension, self.max_seq_length, self.export_version)
        if not all(isinstance(text, str) for text in texts) or not isinstance(self.sha256, Mapping):
            raise TypeError("name, source and prompt must be strings and sha256 an object")
        if not all(type(number) is int and number > 0 for number in numbers):
            raise TypeError("dimension, max_seq_length and export_version must be positive integers")


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An exported model on disk."""

    directory: Path
    manifest: ModelManifest

    @property
    def graph_path(self) -> Path:
        """The ONNX graph; its weights lie beside it."""
        return self.directory / GRAPH_FILE

    @property
    def tokenizer_path(self) -> Path:
        """The tokenizer, in the format of the `tokenizers` library."""
        return self.directory / TOKENIZER_FILE

    @classmethod
    def read(cls, directory: Path) -> ExportedModel:
        """Reads the description of an export and checks that its files are there.

        Raises:
            ModelNotFoundError: the directory holds no complete export of this version.
        """
        try:
            manifest = ModelManifest(**json.loads((directory / MANIFEST_FILE).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ModelNotFoundError(f"no exported model in {directory}") from None
        except (OSError, ValueError, TypeError) as error:
            raise ModelNotFoundError(f"{directory / MANIFEST_FILE} cannot be read: {error}") from error
        if manifest.export_version != EXPORT_VERSION:
            found = manifest.export_version
            raise ModelNotFoundError(f"{directory} has export version {found}, needed is {EXPORT_VERSION}")
        for name in (GRAPH_FILE, WEIGHTS_FILE, TOKENIZER_FILE):
            if not (directory / name).is_file():
                raise ModelNotFoundError(f"{directory} is incomplete: {name} is missing")
        return cls(directory, manifest)

    def damaged_files(self) -> list[str]:
        """Names of the files that are not as they were written; reads them all."""
        return [name for name, digest in self.manifest.sha256.items() if sha256(self.directory / name) != digest]

    def write_manifest(self) -> None:
        """Writes `model.json`."""
        text = json.dumps(asdict(self.manifest), indent=2, ensure_ascii=False)
        (self.directory / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Digest of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def default_models_dir() -> Path:
    """The directory of all exported models: `$CONCORD_MODELS_DIR`, else `concord/models` in the user's cache."""
    if chosen := os.environ.get("CONCORD_MODELS_DIR"):
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "concord" / "models"


def local_path(model: str) -> Path | None:
    """The path that a model setting means, None if it is the name of a published model."""
    path = Path(model).expanduser()
    return path if path.is_absolute() or model.startswith(".") or path.is_dir() else None


def canonical_name(model: str) -> str:
    """The name stored with vectors: free of paths, and one for each spelling of the default model."""
    if path := local_path(model):
        return path.resolve().name
    return DEFAULT_MODEL if model == f"sentence-transformers/{DEFAULT_MODEL}" else model


def export_directory(model: str, models_dir: Path | None = None) -> Path:
    """Where the export of a model belongs; models of one name at different paths do not share a place."""
    slug = canonical_name(model).replace("/", "--")
    if path := local_path(model):
        slug += "-" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    return (models_dir or default_models_dir()) / slug


def find_model(model: str = DEFAULT_MODEL, models_dir: Path | None = None) -> ExportedModel:
    """Finds the export of a model.

    Args:
        model: the name or path of a sentence-transformers model, or the directory of an export.
        models_dir: the directory of all exports, by default `default_models_dir()`.

    Raises:
        ModelNotFoundError: there is none; the message names the command that makes one.
    """
    path = local_path(model)
    if path and (path / MANIFEST_FILE).is_file():
        return ExportedModel.read(path)
    try:
        return ExportedModel.read(export_directory(model, models_dir))
    except ModelNotFoundError as error:
        command = f"python -m concord_server.providers.embedders.export --model {model}"
        raise ModelNotFoundError(f"embedder model {model}: {error}; make it with: {command}") from error
