"""The introduction of a release's participants to each other, as bytes that ledgers keep."""

from __future__ import annotations

from ..messages import Introduction
from .derived import Kind

INTRODUCTION = Kind("dpmosaic introduction", 1, Introduction, "a consistent introduction")


def encode_introduction(introduction: Introduction) -> bytes:
    """The canonical bytes of an introduction."""
    return INTRODUCTION.encode(introduction)


def decode_introduction(data: bytes) -> Introduction:
    """The introduction of these bytes.

    Raises:
        ProtocolError: they are not the canonical bytes of one, or it is inconsistent.
    """
    found: Introduction = INTRODUCTION.decode(data)
    return found
