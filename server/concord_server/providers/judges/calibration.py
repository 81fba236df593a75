"""Turns evidence into calibrated probabilities: a multinomial logistic regression fitted on held-out pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from concord_server.domain.judgement import Relation
from concord_server.providers.judges.evidence import FEATURES, Vector

CLASSES = (Relation.SAME, Relation.REFINEMENT, Relation.CONTRADICTION, Relation.EXTENSION, Relation.DISTINCT)
"""Relations that the regression tells apart; corrections are contradictions that say so in words."""

_DATA = "concord_server.providers.judges.data"


class CalibrationError(Exception):
    """The coefficients do not belong to this version of the features."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of shape ``(classes, features)``."""

    weights: Vector

    @classmethod
    def load(cls, path: Path | None = None) -> Calibration:
        """Loads coefficients from ``path``, or those that come with the package.

        Raises:
            CalibrationError: they are for other features or classes.
        """
        source = resources.files(_DATA).joinpath("calibration.json") if path is None else path
        stored = json.loads(source.read_text(encoding="utf-8"))
        if tuple(stored["features"]) != FEATURES or tuple(stored["classes"]) != CLASSES:
            raise CalibrationError("the coefficients were fitted for other features: fit them again")
        return cls(np.array(stored["weights"], dtype=np.float64))

    def probabilities(self, features: Vector) -> Mapping[Relation, float]:
        """Returns a probability per class of ``CLASSES``, summing to 1."""
        scores = self.weights @ features
        exponents = np.exp(scores - scores.max())
        return dict(zip(CLASSES, (exponents / exponents.sum()).tolist(), strict=True))
