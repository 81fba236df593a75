"""Measures the judge on labelled sentence pairs."""
