"""Differences that change the meaning of two statements while their sentence vectors stay close."""

from concord_server.domain.discrepancies.detect import detect, readable

__all__ = ["detect", "readable"]
