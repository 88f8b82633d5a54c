"""Every string and word against vectors, and against a second implementation in Python's integers.

The vectors come from that implementation, which takes AES-256 in counter mode from `cryptography` and nothing
else.
"""

import io
import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.protocols.scores.dealer import deal
from dpmosaic.common.protocols.scores.shape import ScoreShape

VECTORS = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "vectors").iterdir())]
CASES = [
    pytest.param(vector, case, id=f"{vector['ring']} bits, {i}")
    for vector in VECTORS
    for i, case in enumerate(vector["cases"])
]


class Reference:
    """The protocol on lists: a plane is a list of bits, those past the last cell included.

    These bits belong to no cell; they are what cells with b = delta = 0 would have.
    """

    def __init__(self, ring, bits, cells):
        self.ring, self.bits, self.cells, self.total = ring, bits, cells, sum(cells)
        self.padded = -(-self.total // 8) * 8
        low = bits - 1
        count = math.ceil(low / 3)
        self.sizes = [low // count + (i < low % count) for i in range(count)]
        # Groups of neighbouring digits, (lowest, highest), layer by layer.
        self.layers = []
        powers = [3**i for i in range(5) if 3**i < count]
        for after in reversed(powers):
            sizes = [count // after + (i < count % after) for i in range(after)]
            starts = [sum(sizes[:i]) for i in range(after)]
            self.layers.append([(s, s + size - 1) for s, size in zip(starts, sizes, strict=True)])
            count = after

    # Wires are called (0, i) for g and (1, i) for p of a digit; their order is that of these pairs.

    def products(self, layer):
        """By group, the factors of every product in g, and those of p."""
        for lowest, highest in layer:
            ps = [(1, i) for i in range(lowest, highest + 1)]
            carries = [[(0, i), *ps[i - lowest + 1 :]] for i in range(lowest, highest)]
            yield carries, ps if lowest else []

    def factors(self, layer):
        found = [
            f for gs, p in self.products(layer) for product in [*gs, p] if len(product) > 1 for f in product
        ]
        return sorted(set(found))

    def dealt_products(self, layer):
        found = {
            part
            for gs, p in self.products(layer)
            for product in [*gs, p]
            for size in range(2, len(product) + 1)
            for part in combinations(product, size)
        }
        return sorted(found, key=lambda part: (len(part), part))

    def words(self, stream):
        width = self.ring // 8
        return [int.from_bytes(stream.read(width), "little") for _ in range(self.total)]

    def plane(self, stream):
        number = int.from_bytes(stream.read(self.padded // 8), "little")
        return [number >> i & 1 for i in range(self.padded)]

    def masks(self, stream):
        words = self.words(stream)
        layers = [{factor: self.plane(stream) for factor in self.factors(layer)} for layer in self.layers]
        return words, layers, self.plane(stream)

    def complement(self, stream):
        words = [self.words(stream), self.words(stream)]
        tables = [[self.plane(stream) for _ in range(2**size - 1)] for size in self.sizes]
        products = [
            {part: self.plane(stream) for part in self.dealt_products(layer)} for layer in self.layers
        ]
        return words, tables, products

    def bytes_of_words(self, words):
        return b"".join((word % 2**self.ring).to_bytes(self.ring // 8, "little") for word in words)

    def bytes_of_plane(self, plane):
        return sum(bit << i for i, bit in enumerate(plane)).to_bytes(self.padded // 8, "little")

    def dealt(self, keys):
        streams = [key_stream(key) for key in keys]
        (b0, masks0, sign0), (b1, masks1, sign1) = (self.masks(stream) for stream in streams)
        share_words, share_tables, share_products = self.complement(streams[0])
        b = [(one + other) % 2**self.ring for one, other in zip(b0, b1, strict=True)]
        rho = [1 - 2 * (sign0[i] ^ sign1[i] ^ (b[i] >> (self.bits - 1) & 1)) for i in range(self.total)]
        out = b"".join(
            self.bytes_of_words([true - share for true, share in zip(truth, own, strict=True)])
            for truth, own in zip(
                (rho, [r * x for r, x in zip(rho, b, strict=True)]), share_words, strict=True
            )
        )
        padded, start = b + [0] * (self.padded - self.total), 0
        for size, table in zip(self.sizes, share_tables, strict=True):
            for added, share in enumerate(table, 1):
                truth = [int((x >> start) % 2**size + added >= 2**size) for x in padded]
                out += self.bytes_of_plane([t ^ s for t, s in zip(truth, share, strict=True)])
            start += size
        for one, other, shares in zip(masks0, masks1, share_products, strict=True):
            for part, share in shares.items():
                truth = [all(one[f][i] ^ other[f][i] for f in part) for i in range(self.padded)]
                out += self.bytes_of_plane([t ^ s for t, s in zip(truth, share, strict=True)])
        return out

    def run(self, keys, shares, dealt, flipped=None):
        """What is opened in each round and both shares of the scores.

        `flipped` is (round, sender, bit): the receiver sees another bit there.
        """
        streams = [key_stream(key) for key in keys]
        masks = [self.masks(stream) for stream in streams]
        rest = [self.complement(streams[0]), self.complement(io.BytesIO(dealt))]
        opened = []

        def exchange(sent):
            round = len(opened)
            opened.append(sent)
            arrived = list(sent)
            if flipped and flipped[0] == round:
                number = int.from_bytes(sent[flipped[1]], "little") ^ 1 << flipped[2]
                arrived[flipped[1]] = number.to_bytes(len(sent[0]), "little")
            return [io.BytesIO(arrived[1]), io.BytesIO(arrived[0])]

        mine = [[x - b for x, b in zip(shares[j], masks[j][0], strict=True)] for j in (0, 1)]
        theirs = exchange([self.bytes_of_words(words) for words in mine])
        states = []
        for j in (0, 1):
            delta = [(x + y) % 2**self.ring for x, y in zip(mine[j], self.words(theirs[j]), strict=True)]
            padded, start, wires = delta + [0] * (self.padded - self.total), 0, {}
            for digit, (size, table) in enumerate(zip(self.sizes, rest[j][1], strict=True)):
                whole = [[0] * self.padded, *table, [1 - j] * self.padded]
                index = [(x >> start) % 2**size for x in padded]
                wires[0, digit] = [whole[v][i] for i, v in enumerate(index)]
                wires[1, digit] = [whole[v][i] ^ whole[v + 1][i] for i, v in enumerate(index)]
                start += size
            states.append((delta, padded, wires))
        wires = [state[2] for state in states]

        for number, layer in enumerate(self.layers):
            factors = self.factors(layer)
            mine = [
                {
                    f: [w ^ m for w, m in zip(wires[j][f], masks[j][1][number][f], strict=True)]
                    for f in factors
                }
                for j in (0, 1)
            ]
            theirs = exchange([b"".join(self.bytes_of_plane(planes[f]) for f in factors) for planes in mine])
            for j in (0, 1):
                other = {f: self.plane(theirs[j]) for f in factors}
                public = {f: [x ^ y for x, y in zip(mine[j][f], other[f], strict=True)] for f in factors}
                known = {(): [1 - j] * self.padded, **rest[j][2][number]}
                known.update({(f,): masks[j][1][number][f] for f in factors})
                wires[j] = self.merged(layer, wires[j], public, known)

        top = self.bits - 1
        mine = [
            [
                wires[j][0, 0][i] ^ masks[j][2][i] ^ ((states[j][1][i] >> top & 1) if j == 0 else 0)
                for i in range(self.padded)
            ]
            for j in (0, 1)
        ]
        theirs = exchange([self.bytes_of_plane(plane) for plane in mine])
        scores = []
        for j in (0, 1):
            signs = [x ^ y for x, y in zip(mine[j], self.plane(theirs[j]), strict=True)]
            rho, rho_b = rest[j][0]
            values = [(-1) ** signs[i] * (rho[i] * states[j][0][i] + rho_b[i]) for i in range(self.total)]
            scores.append(self.by_clique(values))
        return opened, scores

    def merged(self, layer, wires, public, known):
        def product(factors):
            out = []
            for i in range(self.padded):
                bit = 0
                for size in range(len(factors) + 1):
                    for part in combinations(factors, size):
                        bit ^= known[part][i] & all(public[f][i] for f in factors if f not in part)
                out.append(bit)
            return out

        found = {}
        for group, ((_, highest), (gs, p)) in enumerate(zip(layer, self.products(layer), strict=True)):
            terms = [wires[0, highest], *map(product, gs)]
            found[0, group] = [sum(bits) % 2 for bits in zip(*terms, strict=True)]
            if p:
                found[1, group] = product(p) if len(p) > 1 else wires[p[0]]
        return found

    def by_clique(self, values):
        sums, rest = [], values
        for count in self.cells:
            sums.append(sum(rest[:count]) % 2**self.ring)
            rest = rest[count:]
        return sums


def key_stream(key):
    cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    return io.BytesIO(cipher.update(bytes(1 << 16)))


def keys_of(case):
    return [bytes.fromhex(key) for key in case["streams"]]


def streams_of(keys):
    return tuple(RandomStream(key) for key in keys)


def words_of(ring, hexadecimal):
    return np.array([int(word, 16) for word in hexadecimal], dtype=ring.dtype)


def shape_of(vector, case):
    return ScoreShape(tuple(case["cells"]), case["bits"], Ring(vector["ring"]))


def shares_of(vector, case):
    return [words_of(Ring(vector["ring"]), share) for share in case["shares"]]


def hexadecimal(opened):
    return [[bytes(sent).hex() for sent in strings] for strings in opened]


@pytest.mark.parametrize("ring", [32, 64])
@settings(max_examples=30)
@given(data=st.data())
def test_the_second_implementation_sends_the_same_bytes_and_ends_with_the_same_shares(meet, ring, data):
    bits = data.draw(st.integers(2, ring))
    cells = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    keys = data.draw(st.tuples(*[st.binary(min_size=32, max_size=32)] * 2))
    word = st.integers(0, 2**ring - 1)
    shares = data.draw(st.tuples(*[st.lists(word, min_size=sum(cells), max_size=sum(cells))] * 2))

    reference = Reference(ring, bits, cells)
    shape = ScoreShape(tuple(cells), bits, Ring(ring))
    dealt = deal(shape, streams_of(keys))
    assert dealt == reference.dealt(keys)
    words = [np.array(share, dtype=shape.ring.dtype) for share in shares]
    results, opened = meet(shape, words, streams_of(keys), dealt)
    expected_opened, expected = reference.run(keys, shares, dealt)
    assert hexadecimal(opened) == hexadecimal(expected_opened)
    assert [result.tolist() for result in results] == expected


@pytest.mark.parametrize(("vector", "case"), CASES)
def test_what_is_dealt_opened_and_found_is_that_of_the_vector(meet, vector, case):
    shape = shape_of(vector, case)
    dealt = deal(shape, streams_of(keys_of(case)))
    assert dealt.hex() == case["dealt"]
    results, opened = meet(shape, shares_of(vector, case), streams_of(keys_of(case)), dealt)
    assert hexadecimal(opened) == case["opened"]
    for result, expected in zip(results, case["score_shares"], strict=True):
        assert result.tolist() == words_of(shape.ring, expected).tolist()
    assert shape.ring.signed(results[0] + results[1]).tolist() == case["scores"]


@pytest.mark.parametrize(("vector", "case"), CASES)
def test_scores_of_the_vector_are_those_of_its_differences(vector, case):
    reference = Reference(vector["ring"], case["bits"], case["cells"])
    shares = [[int(word, 16) for word in share] for share in case["shares"]]
    assert [sum(pair) % 2 ** vector["ring"] for pair in zip(*shares, strict=True)] == [
        difference % 2 ** vector["ring"] for difference in case["differences"]
    ]
    assert reference.by_clique([abs(difference) for difference in case["differences"]]) == case["scores"]


def failing(name):
    found = [(vector, case) for vector in VECTORS for case in vector["failing"] if case["name"] == name]
    assert len(found) == len(VECTORS)
    return [pytest.param(*pair, id=f"{pair[0]['ring']} bits") for pair in found]


def asked(meet, vector, case, **changes):
    """The scores of a case of the vectors, with what the change puts in the place of its own."""
    right = vector["cases"][case["case"]]
    shape = shape_of(vector, right)
    given = {
        "shares": shares_of(vector, right),
        "streams": streams_of(keys_of(right)),
        "dealt": bytes.fromhex(right["dealt"]),
    } | changes
    (left, other), _ = meet(shape, **given)
    return shape.ring.signed(left + other).tolist()


@pytest.mark.parametrize(("vector", "case"), failing("the dealt string is a byte short"))
def test_a_short_dealt_string_of_the_vector_is_refused(meet, vector, case):
    with pytest.raises(ProtocolError, match="from the dealer"):
        asked(meet, vector, case, dealt=bytes.fromhex(case["dealt"]))


@pytest.mark.parametrize(("vector", "case"), failing("an opening is a byte long"))
def test_a_long_opening_of_the_vector_is_refused(meet, vector, case):
    def relay(sender, round, sent):
        here = (sender, round) == (case["sender"], case["round"])
        return bytes.fromhex(case["opened"]) if here else sent

    with pytest.raises(ProtocolError, match=f"other evaluator in round {case['round']}"):
        asked(meet, vector, case, relay=relay)


@pytest.mark.parametrize(("vector", "case"), failing("the dealer takes the differences for narrower"))
def test_a_string_dealt_for_other_bits_is_refused(meet, vector, case):
    right = vector["cases"][case["case"]]
    dealt = deal(shape_of(vector, right | {"bits": case["bits"]}), streams_of(keys_of(right)))
    assert dealt.hex() == case["dealt"]
    with pytest.raises(ProtocolError, match="from the dealer"):
        asked(meet, vector, case, dealt=dealt)


@pytest.mark.parametrize(("vector", "case"), failing("the evaluators' streams are swapped"))
def test_swapped_streams_give_the_wrong_scores_of_the_vector(meet, vector, case):
    right = vector["cases"][case["case"]]
    found = asked(meet, vector, case, streams=streams_of(keys_of(right))[::-1])
    assert found == case["scores"] != right["scores"]


@pytest.mark.parametrize(("vector", "case"), failing("one opened bit is another"))
def test_a_tampered_opening_gives_the_wrong_scores_of_the_vector(meet, vector, case):
    def relay(sender, round, sent):
        if (sender, round) != (case["sender"], case["round"]):
            return sent
        return (int.from_bytes(sent, "little") ^ 1 << case["bit"]).to_bytes(len(sent), "little")

    right = vector["cases"][case["case"]]
    assert asked(meet, vector, case, relay=relay) == case["scores"] != right["scores"]


@pytest.mark.parametrize(("vector", "case"), failing("a difference does not fit its bits"))
def test_a_difference_past_its_bits_gives_the_wrong_scores_of_the_vector(meet, vector, case):
    shape = shape_of(vector, case)
    keys = keys_of(case)
    dealt = deal(shape, streams_of(keys))
    (left, right), _ = meet(shape, shares_of(vector, case), streams_of(keys), dealt)
    found = shape.ring.signed(left + right).tolist()
    true = Reference(vector["ring"], case["bits"], case["cells"]).by_clique(
        [abs(number) for number in case["differences"]]
    )
    assert found == case["scores"] != true
