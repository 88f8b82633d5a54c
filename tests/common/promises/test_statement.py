from dataclasses import replace
from fractions import Fraction

import pytest

from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import Mark
from dpmosaic.common.privacy.budget import AnswerKind
from dpmosaic.common.promises.statement import (
    ENTRY,
    Claim,
    Entry,
    check_statement,
    first_link,
    next_link,
    state,
)
from dpmosaic.common.wire import codec, statements

IDENTITY = Identity.from_seed(bytes(32))
TERMS, DIGEST = b"the terms", bytes(range(32))
CLAIM = Claim("r", DIGEST, 0.5)
ZERO = Fraction(0)
MARK = Mark(7, b"h" * 32)


def chained(count, identity=IDENTITY, terms=TERMS):
    """So many entries, and the last link."""
    link, entries = first_link(terms), []
    for number in range(count):
        query, kind = bytes([number]) * 32, AnswerKind.LABELS if number else AnswerKind.MARGINAL
        delta = Fraction(number, 1000)
        asked = (("a", "b"), (2, 0)) if number else (("a",), ())
        entry = Entry(f"{number:06d}", query, kind, *asked, Fraction(1, 2 + number), delta, b"")
        link = next_link(link, entry)
        entries.append(replace(entry, signature=identity.sign(ENTRY, link)))
    return entries, link


def statement(count=3, **changes):
    return state(IDENTITY, *chained(count, **changes), CLAIM, MARK)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_statement_proves_what_was_spent(count):
    spent = check_statement(statement(count), IDENTITY.public, TERMS, DIGEST)
    assert spent == sum((Fraction(1, 2 + n) for n in range(count)), Fraction(0))


def altered():
    whole = statement()
    first, second, third = whole.entries
    yield "an entry taken out", replace(whole, entries=(first, third))
    yield "the last entry taken out", replace(whole, entries=(first, second))
    yield "all entries taken out", replace(whole, entries=())
    yield "entries that changed places", replace(whole, entries=(second, first, third))
    yield "an entry twice", replace(whole, entries=(first, first, second, third))
    yield "another cost", replace(whole, entries=(first, replace(second, zcdp_rho=Fraction(0)), third))
    yield "a negative cost", replace(whole, entries=(replace(first, zcdp_rho=Fraction(-1)), second, third))
    yield "another delta", replace(whole, entries=(first, replace(second, delta=Fraction(1, 10)), third))
    marginal = replace(second, kind=AnswerKind.MARGINAL, delta=Fraction(0))
    yield "labels as a marginal", replace(whole, entries=(first, marginal, third))
    scores = replace(first, kind=AnswerKind.SCORES)
    yield "a marginal as scores", replace(whole, entries=(scores, second, third))
    yield "another marginal", replace(whole, entries=(first, replace(second, clique=("a", "c")), third))
    yield "other groups", replace(whole, entries=(first, replace(second, groups=(0, 2)), third))
    moved = replace(second, clique=("a",), groups=())
    yield "an attribute less", replace(whole, entries=(first, moved, third))
    yield "another query", replace(whole, entries=(first, replace(second, query=bytes(32)), third))
    yield "another id", replace(whole, entries=(first, replace(second, query_id="9"), third))
    yield "no signature", replace(whole, signature=b"")
    yield "another certificate", state(IDENTITY, *chained(3), Claim("r", bytes(32), 0.5), MARK)
    yield "another mark", replace(whole, mark=Mark(8, MARK.head))
    yield "another head of the ledger's history", replace(whole, mark=Mark(7, bytes(32)))
    yield "another party", state(Identity.from_seed(bytes([1] * 32)), *chained(3), CLAIM, MARK)
    yield "another release", statement(terms=b"other terms")


@pytest.mark.parametrize(("what", "wrong"), [pytest.param(*case, id=case[0]) for case in altered()])
def test_a_statement_with_anything_altered_is_refused(what, wrong):
    with pytest.raises(ProtocolError):
        check_statement(wrong, IDENTITY.public, TERMS, DIGEST)


@pytest.mark.parametrize("count", [0, 3, 2001])
def test_a_statement_crosses_in_frames(count):
    kinds = (AnswerKind.MARGINAL, AnswerKind.SCORES, AnswerKind.ALIGNMENT)
    entries = tuple(
        Entry(
            str(n), bytes(32), kinds[n % 3], ("a", "b")[: n % 2], (0, 7)[: n % 3], Fraction(n, 3), ZERO, b"s"
        )
        for n in range(count)
    )
    whole = replace(statement(), entries=entries)
    frames = list(statements.encode_statement(whole))
    assert statements.decode_statement(frames) == whole
    assert max(map(len, frames)) < 1 << 20


def test_a_statement_that_ends_early_or_continues_is_refused():
    frames = list(statements.encode_statement(statement()))
    for wrong in ([], frames[:-1], [*frames, frames[0]], [b"\xff"]):
        with pytest.raises(ProtocolError):
            statements.decode_statement(wrong)


def test_a_cost_that_is_no_fraction_is_refused():
    for text in ("", "x", "1/0"):
        entry = statements.pb.Entry(kind="marginal", zcdp_rho=text, delta="0")
        frame = statements.pb.StatementFrame(entries=[entry], signature=b"s")
        with pytest.raises(ProtocolError, match="no fraction"):
            statements.decode_statement([frame.SerializeToString()])


@pytest.mark.parametrize(
    "odd", [{"kind": "other"}, {"kind": "x"}, {"delta": "1"}, {"delta": "1/9"}, {"kind": "labels"}]
)
def test_an_entry_of_no_kind_or_with_a_delta_that_its_kind_does_not_have_is_refused(odd):
    entry = statements.pb.Entry(**{"zcdp_rho": "1", "kind": "marginal", "delta": "0"} | odd)
    frame = statements.pb.StatementFrame(entries=[entry], signature=b"s")
    with pytest.raises(ProtocolError, match="consistent Entry"):
        statements.decode_statement([frame.SerializeToString()])


def test_a_claim_survives_the_trip_and_a_wrong_one_is_refused():
    assert codec.decode(Claim, codec.encode(CLAIM)) == CLAIM
    for wrong in (
        statements.pb.Claim(certificate=DIGEST),
        statements.pb.Claim(release_id="r", certificate=b"short"),
        statements.pb.Claim(release_id="r", certificate=DIGEST, zcdp_rho_spent=float("nan")),
    ):
        with pytest.raises(ProtocolError, match="consistent Claim"):
            codec.decode(Claim, wrong.SerializeToString())
