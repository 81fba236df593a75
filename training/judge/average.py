"""Averages the weights of the two passes: steadier on held-out pairs than either.

Run ``python -m training.judge.average FIRST.pt SECOND.pt --out model.pt``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch


def main() -> None:
    """Writes the mean of two sets of weights of the same model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    first, second = torch.load(arguments.first), torch.load(arguments.second)
    mean = {
        name: (first[name] + second[name]) / 2 if first[name].is_floating_point() else first[name]
        for name in first
    }
    torch.save(mean, arguments.out)


if __name__ == "__main__":
    main()
