"""Queries as bytes: kept in ledgers; masks, dealt randomness and statements are bound to them."""

from __future__ import annotations

import hashlib

from ..data.grouping import Groups
from ..messages import AlignmentQuery, Asked, MarginalQuery, ScoreQuery
from .form import flag, integer, items, octets, real, record, text

MARGINAL, MARGINAL_VERSION, GROUPED_MARGINAL_VERSION = "dpmosaic marginal query", 2, 3
SCORE, SCORE_VERSION, GROUPED_SCORE_VERSION = "dpmosaic score query", 1, 2
ALIGNMENT, ALIGNMENT_VERSION = "dpmosaic alignment query", 1


def encode_asked(query: Asked) -> bytes:
    """The canonical bytes of a query; only equal queries have equal bytes."""
    if isinstance(query, AlignmentQuery):
        return _alignment(query)
    return _marginal(query) if isinstance(query, MarginalQuery) else _score(query)


def query_digest(query: Asked) -> str:
    """SHA-256 (hex) of the canonical bytes, to which masks and dealt randomness are bound."""
    return hashlib.sha256(encode_asked(query)).hexdigest()


def _marginal(query: MarginalQuery) -> bytes:
    fields = (
        text(query.release_id),
        text(query.query_id),
        integer(query.form.value),
        items(map(text, query.clique)),
        real(query.sigma),
        items(items(integer(start) + integer(stop) for start, stop in box) for box in query.view.boxes),
        flag(query.view.interaction),
        items(map(real, query.other_sigmas)),
    )
    if query.view.groups:
        return record(MARGINAL, GROUPED_MARGINAL_VERSION, (*fields, _groups(query.view.groups)))
    return record(MARGINAL, MARGINAL_VERSION, fields)


def _score(query: ScoreQuery) -> bytes:
    fields = (
        text(query.release_id),
        text(query.query_id),
        items(items(map(text, view.clique)) for view in query.views),
        real(query.sigma),
        octets(query.references),
        integer(query.largest_reference),
        integer(query.largest_total),
    )
    if query.groups:
        return record(SCORE, GROUPED_SCORE_VERSION, (*fields, items(map(_groups, query.groups))))
    return record(SCORE, SCORE_VERSION, fields)


def _groups(groups: Groups) -> bytes:
    return items(items(map(integer, labels)) for labels in groups)


def _alignment(query: AlignmentQuery) -> bytes:
    fields = (text(query.release_id), text(query.query_id), real(query.sigma))
    return record(ALIGNMENT, ALIGNMENT_VERSION, fields)
