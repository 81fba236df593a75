import json
from pathlib import Path

import pytest
from concord_server.providers.embedders.model_files import (
    DEFAULT_MODEL,
    EXPORT_VERSION,
    GRAPH_FILE,
    MANIFEST_FILE,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    ExportedModel,
    ModelManifest,
    ModelNotFoundError,
    canonical_name,
    default_models_dir,
    export_directory,
    find_model,
    sha256,
)


def write_export(directory: Path, **changes: object) -> ExportedModel:
    directory.mkdir(parents=True)
    for name in (GRAPH_FILE, WEIGHTS_FILE, TOKENIZER_FILE):
        (directory / name).write_text(name)
    digests = {name: sha256(directory / name) for name in (GRAPH_FILE, WEIGHTS_FILE, TOKENIZER_FILE)}
    manifest = ModelManifest("a-model", "hub a-model", 8, 16, "", EXPORT_VERSION, digests)
    exported = ExportedModel(directory, manifest)
    exported.write_manifest()
    if changes:
        path = directory / MANIFEST_FILE
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return exported


def test_a_written_export_is_read_back(tmp_path: Path):
    exported = write_export(tmp_path / "a")
    assert ExportedModel.read(tmp_path / "a") == exported


def test_an_export_is_found_by_the_name_of_its_model(tmp_path: Path):
    exported = write_export(tmp_path / "owner--a-model")
    assert find_model("owner/a-model", tmp_path) == exported


def test_an_export_is_found_by_its_own_directory(tmp_path: Path):
    exported = write_export(tmp_path / "anywhere")
    assert find_model(str(tmp_path / "anywhere"), tmp_path / "models") == exported


def test_a_missing_export_names_the_command_that_makes_it(tmp_path: Path):
    with pytest.raises(ModelNotFoundError) as caught:
        find_model("owner/a-model", tmp_path)
    assert "python -m concord_server.providers.embedders.export --model owner/a-model" in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"export_version": EXPORT_VERSION + 1},
        {"export_version": "1"},
        {"dimension": 0},
        {"dimension": True},
        {"name": None},
        {"sha256": []},
        {"unknown": 1},
    ],
)
def test_an_export_that_says_something_else_is_not_used(tmp_path: Path, changes: dict[str, object]):
    write_export(tmp_path / "a", **changes)
    with pytest.raises(ModelNotFoundError):
        ExportedModel.read(tmp_path / "a")


@pytest.mark.parametrize("text", ["", "[]", "{", "{}"])
def test_a_description_that_is_not_one_is_not_used(tmp_path: Path, text: str):
    write_export(tmp_path / "a")
    (tmp_path / "a" / MANIFEST_FILE).write_text(text)
    with pytest.raises(ModelNotFoundError, match=r"model\.json"):
        ExportedModel.read(tmp_path / "a")


@pytest.mark.parametrize("name", [GRAPH_FILE, WEIGHTS_FILE, TOKENIZER_FILE])
def test_an_incomplete_export_is_not_used(tmp_path: Path, name: str):
    write_export(tmp_path / "a")
    (tmp_path / "a" / name).unlink()
    with pytest.raises(ModelNotFoundError, match=name):
        ExportedModel.read(tmp_path / "a")


def test_changed_files_are_noticed(tmp_path: Path):
    exported = write_export(tmp_path / "a")
    assert exported.damaged_files() == []
    exported.tokenizer_path.write_text("something else")
    assert exported.damaged_files() == [TOKENIZER_FILE]


def test_both_spellings_of_the_default_model_are_one():
    assert canonical_name(f"sentence-transformers/{DEFAULT_MODEL}") == DEFAULT_MODEL
    assert export_directory(f"sentence-transformers/{DEFAULT_MODEL}") == export_directory(DEFAULT_MODEL)


def test_models_of_one_name_at_two_paths_do_not_share_an_export(tmp_path: Path):
    one, two = tmp_path / "one" / "tuned", tmp_path / "two" / "tuned"
    assert canonical_name(str(one)) == canonical_name(str(two)) == "tuned"
    assert export_directory(str(one)) != export_directory(str(two))


def test_the_directory_of_exports_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("CONCORD_MODELS_DIR", str(tmp_path / "chosen"))
    assert default_models_dir() == tmp_path / "chosen"
    monkeypatch.delenv("CONCORD_MODELS_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_models_dir() == tmp_path / "cache" / "concord" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_models_dir() == tmp_path / ".cache" / "concord" / "models"
