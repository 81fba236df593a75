"""What of an event counts as said, and whether a statement rests on it."""

from concord_server.domain.extraction.grounding import Grounding, Passage, passages_of

__all__ = ["Grounding", "Passage", "passages_of"]
