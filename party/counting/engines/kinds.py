"""Kinds of columns, as far as they decide how a cell becomes a code."""

from __future__ import annotations

import enum


class Kind(enum.Enum):
    """What the cells of a column are, in any engine."""

    WHOLE = "whole numbers of at most 64 bits"
    SINGLE = "floating-point numbers of 32 bits"
    DOUBLE = "floating-point numbers of 64 bits"
    DECIMAL = "decimal numbers"
    BOOLEAN = "booleans"
    TEXT = "text"
    DATE = "dates"
    TIMESTAMP = "timestamps without a time zone"
    OTHER = "cells of another kind"


class NotExact(Exception):
    """SQL cannot give the codes that Python gives; says why, of the domain and the column's kind only."""
