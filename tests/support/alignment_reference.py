"""A second implementation of the steps of an alignment: dictionaries, `hmac`, and AES of `cryptography`."""

import hmac
import math
from itertools import combinations

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy.noise import discrete_gaussian


class Words:
    """Little-endian words of AES-256 in counter mode."""

    def __init__(self, key):
        self.key = key
        self.cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def child(self, *labels):
        text = b"".join(len(label).to_bytes(4, "big") + label.encode() for label in labels)
        return Words(hmac.digest(self.key, b"dpmosaic child" + text, "sha256"))

    def read(self, size):
        return self.cipher.update(bytes(size))

    def order(self, size):
        words = [int.from_bytes(self.read(8), "little") for _ in range(size)]
        return sorted(range(size), key=words.__getitem__)

    def gaussian(self, sigma, size):
        return discrete_gaussian(sigma, size, RandomStream(self.key)).tolist()


def shift(sigma):
    return math.ceil(15 * sigma + 2)


def dummy_counts(key, slice_number, parties, sigma):
    drawn = Words(key).child("numbers of dummies", str(slice_number)).gaussian(sigma, 2**parties - 1)
    return [shift(sigma) + number for number in drawn]


def sent(key, slice_number, parties, me, sigma, levels, own):
    """The tokens of a party, each a list of one for each match key, and the row of each."""
    own = Words(own)
    rows = [[] for _ in levels[0]]
    for level, texts in enumerate(levels):
        tag = b"dpmosaic token" + slice_number.to_bytes(4, "big") + level.to_bytes(4, "big")
        fresh = own.child("missing", str(level))
        again = own.child("repeated", str(level))
        for row, text in zip(rows, texts, strict=True):
            if not text:
                row.append(fresh.read(16))
            elif texts.count(text) > 1:
                row.append(again.read(16))
            else:
                row.append(hmac.digest(key, tag + text, "sha256")[:16])
    for pattern, count in enumerate(dummy_counts(key, slice_number, parties, sigma), start=1):
        stream = Words(key).child("dummies", str(slice_number)).child(str(pattern))
        if pattern >> me & 1:
            rows += [[stream.read(16) for _ in levels] for _ in range(count)]
    order = own.child("order").order(len(rows))
    return [rows[number] for number in order], order


def persons(tokens):
    """Sets of (party, row), in the order of their first rows."""
    of = {(party, row): {(party, row)} for party, rows in enumerate(tokens) for row in range(len(rows))}
    for level in range(max((len(keys) for rows in tokens for keys in rows), default=0)):
        for i, j in combinations(range(len(tokens)), 2):
            holders = []
            for own, other in ((i, j), (j, i)):
                held = {}
                for row, keys in enumerate(tokens[own]):
                    if other not in {party for party, _ in of[own, row]}:
                        held.setdefault(keys[level], []).append((own, row))
                holders.append({token: rows[0] for token, rows in held.items() if len(rows) == 1})
            for token in holders[0].keys() & holders[1].keys():
                one, other = of[holders[0][token]], of[holders[1][token]]
                if not {party for party, _ in one} & {party for party, _ in other}:
                    for row in other:
                        of[row] = one
                    one |= other
    return sorted({min(rows): rows for rows in of.values()}.values(), key=min)


def matched(tokens, sigma, key):
    """Positions for each party, number of positions, and noisy numbers of people."""
    found, stream = persons(tokens), Words(key).child("slice", "0")
    wide = math.sqrt(2) * sigma
    empty = shift(wide) + stream.child("empty positions").gaussian(wide, 1)[0]
    order = stream.child("order").order(len(found) + empty)
    positions = [[0] * len(rows) for rows in tokens]
    noise = stream.child("people").gaussian(wide, 2 ** len(tokens))
    counts = [number - shift(sigma) for number in noise[1:]]
    for person, position in zip(found, order, strict=False):
        counts[sum(1 << party for party, _ in person) - 1] += 1
        for party, row in person:
            positions[party][row] = position
    return positions, len(order), counts
