"""Exports the trained pair model to ONNX with 8-bit weights, and measures what that costs.

Run ``python -m training.judge.export --model build/judge/model/model.pt --data build/judge --out DIR``: writes
``pair_model.onnx``, ``tokenizer.json`` and prints accuracy on the held-out pairs before and after.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process

from training.judge.generate import Pair
from training.judge.model import PairModel, pretrained
from training.judge.train import encode, load_tokenizer, read

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def export(model: PairModel, out: Path) -> None:
    """Writes the fp32 graph; batch and length are free."""
    example = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in _INPUTS)
    axes = {name: {0: "pairs", 1: "tokens"} for name in _INPUTS} | {"logits": {0: "pairs"}}
    torch.onnx.export(
        model.eval(),
        example,
        str(out),
        input_names=list(_INPUTS),
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=17,
        dynamo=False,
    )


def quantise(source: Path, out: Path) -> None:
    """Writes the graph with 8-bit weights: per output channel for products, per tensor for the word table."""
    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(
            str(prepared),
            str(out),
            op_types_to_quantize=["MatMul", "Gemm", "Gather"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )


def logits(path: Path, pairs: list[Pair]) -> np.ndarray:
    """Returns the logits of shape (pairs, 7) that an ONNX file gives."""
    tokenizer = load_tokenizer(pretrained())
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    rows = []
    for start in range(0, len(pairs), 16):
        inputs = {name: value.numpy() for name, value in encode(tokenizer, pairs[start : start + 16]).items()}
        rows.append(session.run(["logits"], inputs)[0])
    return np.concatenate(rows)


def accuracy(values: np.ndarray, pairs: list[Pair]) -> float:
    """Returns the share of certain forward labels that the largest logit hits."""
    certain = [
        (row[:3].argmax(), "ENC".index(p.forward))
        for row, p in zip(values, pairs, strict=True)
        if p.forward in "ENC"
    ]
    return float(np.mean([a == b for a, b in certain]))


def main() -> None:
    """Exports, quantises and compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("build/judge"))
    parser.add_argument("--out", type=Path, default=Path("server/concord_server/providers/judges/data"))
    arguments = parser.parse_args()
    model = PairModel(pretrained())
    model.load_state_dict(torch.load(arguments.model))
    arguments.out.mkdir(parents=True, exist_ok=True)
    full, small = arguments.out / "full.onnx", arguments.out / "pair_model.onnx"
    export(model, full)
    quantise(full, small)
    held = [p for p in read(arguments.data / "held_out.tsv") if p.forward in "ENC"][:2000]
    report = {name: accuracy(logits(path, held), held) for name, path in (("fp32", full), ("int8", small))}
    report["megabytes"] = small.stat().st_size / 1e6
    full.unlink()
    (arguments.out / "tokenizer.json").write_bytes((pretrained() / "tokenizer.json").read_bytes())
    files = [arguments.out / name for name in ("pair_model.onnx", "tokenizer.json")]
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (arguments.out / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
