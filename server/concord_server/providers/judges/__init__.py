"""Judges: they say how a statement relates to a known fact."""
