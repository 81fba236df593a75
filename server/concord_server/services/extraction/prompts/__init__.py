"""The instructions that models are given, one file for each version."""
