"""Takes candidates from events by a language model."""

from concord_server.services.extraction.extractor import ModelExtractor

__all__ = ["ModelExtractor"]
