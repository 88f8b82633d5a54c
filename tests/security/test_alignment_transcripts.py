"""All messages of alignments over parties: only tokens and positions depend on rows."""

from fractions import Fraction

import pytest

from dpmosaic.common.errors import PartyUnavailable
from dpmosaic.common.wire.alignments import decode_tokens
from support.aligning import Aligning, align
from support.taps import Tap, Wire

PEOPLE = [f"person-{number:04d}" for number in range(400)]
FEW, MANY = (PEOPLE[:40], PEOPLE[20:50]), (PEOPLE[:300], PEOPLE[100:400])
"""Identifiers of the rows of two parties."""


class Transcript:
    """An alignment whose curator records what it sends and receives."""

    def __init__(self, people, path, parties=None):
        self.parties = parties or Aligning([[list(held) for held in people]])
        self.wire = Wire()
        taps = [[Seen(link, place, self.wire) for place, link in enumerate(self.parties.links[0])]]
        self.made = align(self.parties, path, taps)

    def bytes(self):
        return b"".join(part for _, _, sent, got in self.wire.crossed for part in (*sent, *got))

    def of(self, place):
        """The messages to and from one party, in order."""
        return [message for seen, *message in self.wire.crossed if seen == place]

    def tokens(self):
        """The tokens of every party."""
        return [
            decode_tokens(replies, 1)[:, 0]
            for place in range(2)
            for method, _, replies in self.of(place)
            if method == "Align"
        ]


class Seen(Tap):
    """A connection that records both directions of every call."""

    def call(self, method, requests):
        requests = list(requests)
        replies = list(self.connection.call(method, requests))
        self.wire.crossed.append((self.place, method, requests, replies))
        yield from replies


@pytest.fixture
def few(tmp_path):
    return Transcript(FEW, tmp_path / "few")


def test_no_message_contains_an_identifier(few):
    assert not any(name.encode() in few.bytes() for name in PEOPLE)


def test_only_tokens_and_positions_have_sizes_that_depend_on_rows(few, tmp_path):
    many = Transcript(MANY, tmp_path / "many")
    for place in range(2):
        aligned = False
        for (method, *one), (same, *other) in zip(few.of(place), many.of(place), strict=True):
            assert method == same
            sent, got = (sum(map(len, messages)) for messages in one)
            sent_more, got_more = (sum(map(len, messages)) for messages in other)
            if method == "Align":
                aligned = True
                assert sent == sent_more
                assert got < got_more
            elif method == "Deliver" and aligned:
                assert sent < sent_more
                assert got == got_more
            else:
                # Marks of ledgers and costs are numbers of a few digits more or less.
                assert abs(sent - sent_more) + abs(got - got_more) <= 16, method


def test_parties_send_nothing_but_tokens_as_many_as_rows_and_dummies(few):
    dummies = [len(tokens) - len(held) for tokens, held in zip(few.tokens(), FEW, strict=True)]
    # Two patterns, each with 0 to 36 dummies at a sigma of little more than 1.
    assert all(0 <= number <= 2 * 36 for number in dummies)


def test_a_second_alignment_of_the_same_rows_has_other_tokens_and_is_charged_again(few, tmp_path):
    again = Transcript(FEW, tmp_path / "again", few.parties)
    for one, other in zip(few.tokens(), again.tokens(), strict=True):
        assert not {token.tobytes() for token in one} & {token.tobytes() for token in other}
    assert few.parties.spent() == [(few.made.zcdp_rho, 1)] * 4
    assert again.made.alignment_id != few.made.alignment_id


class Stopping(Seen):
    """A curator that takes the tokens and stops."""

    def call(self, method, requests):
        replies = super().call(method, requests)
        if method == "Align":
            list(replies)
            raise PartyUnavailable("stopped")
        return replies


def test_a_curator_that_takes_the_tokens_and_stops_is_charged(tmp_path):
    parties = Aligning([[list(held) for held in FEW]])
    wire = Wire()
    taps = [[Stopping(link, place, wire) for place, link in enumerate(parties.links[0])]]
    with pytest.raises(PartyUnavailable):
        align(parties, tmp_path / "journal", taps)
    asked = {place for place, method, _, _ in wire.crossed if method == "Align"}
    spent = [parties.ledgers[0][place].summaries()[0].spent for place in asked]
    assert set(spent) == {Fraction(1, 2)}
