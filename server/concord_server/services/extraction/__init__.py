"""Takes candidates from events by a language model."""

from concord_server.services.extraction.extractor import ModelExtractor
from concord_server.services.extraction.once import ExtractedOnce

__all__ = ["ExtractedOnce", "ModelExtractor"]
