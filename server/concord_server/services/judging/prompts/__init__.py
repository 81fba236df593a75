"""Prompts of the judge, one file for each version."""
