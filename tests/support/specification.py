"""The steps of docs/specification in Python integers, with HMAC, AES, Ed25519 and HKDF and nothing else."""

import hmac
import json
import math
from fractions import Fraction

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PRIME = 2**61 - 1
GROUPS = 32


def sized(*fields):
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)


def child_key(key, *labels):
    return hmac.digest(key, b"dpmosaic child" + sized(*(label.encode() for label in labels)), "sha256")


class Stream:
    """AES-256 in counter mode, read in order from some byte on."""

    def __init__(self, key, start=0):
        self.key = key
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._cipher.update(bytes(start))

    def read(self, size):
        return self._cipher.update(bytes(size))

    def words(self, count, size=8):
        return [int.from_bytes(self.read(size), "little") for _ in range(count)]

    def rows(self, rows, cells, bits):
        return [self.words(cells, bits // 8) for _ in range(rows)]

    def elements(self, count):
        """Elements of the field; those that are none are drawn again, after all others."""
        found = [word & PRIME for word in self.words(count)]
        while outside := [i for i, element in enumerate(found) if element == PRIME]:
            for i, word in zip(outside, self.words(len(outside)), strict=True):
                found[i] = word & PRIME
        return found


def sign(seed, purpose, message):
    signed = b"dpmosaic signature 1" + sized(purpose.encode()) + message
    return Ed25519PrivateKey.from_private_bytes(seed).sign(signed)


def pair_key(secret, peer, context):
    own = X25519PrivateKey.from_private_bytes(secret)
    publics = sorted((own.public_key().public_bytes_raw(), peer))
    info = b"dpmosaic pair key 1" + sized(context, *publics)
    shared = own.exchange(X25519PublicKey.from_public_bytes(peer))
    return HKDF(SHA256(), 32, salt=None, info=info).derive(shared)


def opened(key, context, frames):
    """The payload of a sealed message; the first frame is the salt."""
    salt, *sealed = frames
    info = b"dpmosaic sealed stream 1" + context + salt
    cipher = AESGCM(HKDF(SHA256(), 32, salt=None, info=info).derive(key))
    last = len(sealed) - 1
    nonces = [number.to_bytes(11, "big") + bytes([number == last]) for number in range(len(sealed))]
    return b"".join(cipher.decrypt(nonce, frame, None) for nonce, frame in zip(nonces, sealed, strict=True))


def envelope(terms, sender, recipient, what):
    return terms + json.dumps([sender, recipient, *what]).encode()


def keyed_digest(key, context, content):
    info = b"dpmosaic keyed digest 1" + context
    return hmac.digest(HKDF(SHA256(), 32, salt=None, info=info).derive(key), content, "sha256")


def grid_of(sigma):
    return 2 ** max(0, math.ceil(math.log2(256 / sigma)))


def share_scale(sigma, honest):
    """The smallest double whose square is at least (grid sigma)^2 / honest."""
    needed = (grid_of(sigma) * Fraction(sigma)) ** 2 / honest
    scale = math.sqrt(needed)
    while Fraction(scale) ** 2 < needed:
        scale = math.nextafter(scale, math.inf)
    return scale


def discrete_gaussian(sigma, size, stream):
    """Version 1 of the sampler; what 64 bits do not decide, of which the vectors have none, is left out."""
    bits = max(0, math.floor(math.log2(sigma / 16)))
    starts = [2**bits * block for block in range(math.ceil(14 * sigma / 2**bits) + 1)]
    heights = [math.exp(-((start / sigma) ** 2) / 2) for start in starts]
    scale = (1 - 2.0**-20) * 2.0**60 / math.fsum(heights)
    weights = [math.floor(height * scale * (1 + 1e-12)) + 1 for height in heights]
    mass = 1 + math.sqrt(math.pi / 2) * sigma if sigma >= 1 else 1.0
    rate = min(1.0, max(0.25, (mass - 0.5) / (math.fsum(heights) * 2**bits)))
    draws = []
    while len(draws) < size:
        count = min(2**15, math.ceil((size - len(draws)) / rate) + 16)
        accepted = []
        for first, second, third in zip(*(stream.words(count) for _ in range(3)), strict=True):
            left, block = first >> 4, 0
            while block < len(weights) and left >= weights[block]:
                left -= weights[block]
                block += 1
            if block == len(weights):
                continue
            draw = (block << bits) + (second & 2**bits - 1)
            negative = second >> 63
            probability = math.exp(-((draw / sigma) ** 2) / 2) * scale / weights[block]
            assert abs(probability - third * 2.0**-64) > 1e-11 * probability + 2.0**-52
            if probability > third * 2.0**-64 and not (negative and draw == 0):
                accepted.append(-draw if negative else draw)
        draws += accepted[: size - len(draws)]
    return draws


def chain_labels(chain):
    return [text for part in chain for text in (str(len(part)), *part)]


def release_key(seed, terms):
    return child_key(seed, "masks of a release", terms.hex())


def mask_rows(seeds, terms, label, chain, start, rows, cells, bits):
    """The sum of the components of a mask, each from a seed."""
    total = [[0] * cells for _ in range(rows)]
    for seed in seeds:
        key = child_key(release_key(seed, terms), label, *chain_labels(chain))
        for row, more in zip(
            total, Stream(key, start * cells * bits // 8).rows(rows, cells, bits), strict=True
        ):
            row[:] = [(one + other) % 2**bits for one, other in zip(row, more, strict=True)]
    return total


def pad(pair_key, kind, chain):
    return Stream(child_key(pair_key, "pad", kind, *chain_labels(chain)))


def pairwise_mask(me, pair_keys, query, cells, bits):
    total = [0] * cells
    for other, key in pair_keys.items():
        words = Stream(child_key(key, "pairwise mask", query)).words(cells, bits // 8)
        total = [
            (t + (word if me < other else -word)) % 2**bits for t, word in zip(total, words, strict=True)
        ]
    return total


def checked_rows(bits, left, right, weight_key):
    """For honest dealers, of each repetition: X, and the weights of each row; all modulo 2^64."""
    cells, stream = len(left[0]) * len(right[0]), Stream(weight_key)
    words = stream.rows(len(left), cells, 32)
    repeated = [words] if bits == 32 else [[[w >> b & 1 for w in row] for row in words] for b in range(32)]
    n = len(right[0])
    x = [
        [
            [sum(row[c * n + j] * own[c] for c in range(len(own))) % 2**64 for j in range(n)]
            for own, row in zip(left, rows, strict=True)
        ]
        for rows in repeated
    ]
    return x, repeated


def combined_factor(left, factor, weights):
    """X of a row: a row of weights by the factor that its owner has; modulo 2^64."""
    m = len(factor)
    n = len(weights) // m
    if left:
        return [sum(weights[c * n + j] * factor[c] for c in range(m)) % 2**64 for j in range(n)]
    return [sum(weights[c * m + j] * factor[j] for j in range(m)) % 2**64 for c in range(n)]


def repeated_weights(bits, key, rows, cells):
    """Of each repetition, the weights of each row."""
    words = Stream(key).rows(rows, cells, 32)
    return [words] if bits == 32 else [[[w >> b & 1 for w in row] for row in words] for b in range(32)]


class OneHot:
    """The proof that rows are one-hot, or also zero, of one matrix in words of 32 bits; one dealer."""

    bits = 32

    def __init__(self, coins, rows, cells, empty):
        self.empty = empty
        stream = Stream(child_key(coins, "one-hot challenge"))
        self.columns = stream.elements(cells + empty)
        self.rows = stream.elements(rows)
        (self.weight,) = stream.elements(1)

    def sketch(self, matrix, masks):
        """z, y and s of each row of one role: its additive part of U = A + E - 2^32."""
        rows = []
        for words in matrix:
            row = list(words)
            if self.empty:
                row.append(((0 if masks else 1) - sum(words)) % 2**32)
            rows.append([word or 2**32 for word in row] if masks else [word - 2**32 for word in row])
        return self.sums(rows)

    def sums(self, rows):
        r = self.columns
        z = [sum(x * u for x, u in zip(r, row, strict=True)) % PRIME for row in rows]
        y = [sum(x * x * u for x, u in zip(r, row, strict=True)) % PRIME for row in rows]
        return z, y, [sum(row) % PRIME for row in rows]

    def local(self, sketch):
        """What the receiver's sums alone add; of the dealer's, without the constant."""
        total = 0
        for rho, z, y, s in zip(self.rows, *sketch, strict=True):
            total += rho * (z * z - s * y + self.weight * s * (s + 2**32 - 2))
        return total % PRIME

    def dealt(self, known, position):
        constant = self.weight * (1 - 2**32) * sum(self.rows)
        return (self.local(known[position]) + constant) % PRIME

    def left(self, sketch, blinds):
        z, y, s = sketch
        vectors = [[rho * v for rho, v in zip(self.rows, vector, strict=True)] for vector in (z, y, s)]
        return self.grouped([vectors[0], vectors[2], vectors[1]], blinds)

    def right(self, sketch, blind):
        z, y, s = sketch
        second = [2 * self.weight * a - b for a, b in zip(s, y, strict=True)]
        return self.grouped([[2 * v for v in z], second, [-v for v in s]], [blind])

    def grouped(self, vectors, blinds):
        width = -(-len(self.rows) // GROUPS)
        padded = [vector + [0] * (GROUPS * width - len(vector)) for vector in vectors]
        groups = [[v % PRIME for p in padded for v in p[g * width : (g + 1) * width]] for g in range(GROUPS)]
        return [added([blind.elements(len(groups[0])) for blind in blinds]), *groups]

    def prove(self, mask, opening, dealers, receiver):
        left, right = self.left(mask, dealers), self.right(opening, receiver)
        values = [inner(at(left, t), at(right, t)) for t in range(2 * GROUPS + 1)]
        shares = added([dealer.elements(2 * GROUPS + 1) for dealer in dealers])
        return [(v - b) % PRIME for v, b in zip(values, shares, strict=True)]

    def attest(self, known, streams, points, position, component):
        """The message of the dealer at a position, which answers for a component."""
        left = self.left(known[component], [streams[component]])
        share = streams[component].elements(2 * GROUPS + 1)
        point = 0
        while point <= 2 * GROUPS + 1:
            (point,) = points.elements(1)
        total = self.dealt(known, position) + sum(share[1 : GROUPS + 1])
        for other in known.keys() - {component}:
            total += zero_share(streams[other]) - zero_share(streams[component])
        return [point, total % PRIME, at([[v] for v in share], point)[0], *at(left, point)]

    def holds(self, opening, proof, attestations, receiver):
        point = attestations[0][0]
        known, shared, *vector = added([one[1:] for one in attestations])
        zero = (known + self.local(opening) + sum(proof[1 : GROUPS + 1])) % PRIME
        value = (at([[v] for v in proof], point)[0] + shared) % PRIME
        return zero == 0 and value == inner(vector, at(self.right(opening, receiver), point))


class OneHotIntegers(OneHot):
    """The same of integers less masks that are sums of integers below 2^58, of one dealer or three."""

    bits = 64

    def sketch(self, matrix, masks):
        rows = []
        for words in matrix:
            row = list(words) if masks else [word - 2**64 if word >> 63 else word for word in words]
            assert masks or all(-3 * 2**58 <= word <= 1 for word in row)
            rows.append([*row, (not masks) - sum(row)] if self.empty else row)
        return self.sums(rows)

    def local(self, sketch):
        total = self.linear(sketch)
        for rho, z in zip(self.rows, sketch[0], strict=True):
            total += rho * z * z
        return total % PRIME

    def linear(self, sketch):
        """-y, and s unless rows may be zero, in which case s is 1 by the further column."""
        _, y, s = sketch
        weight = 0 if self.empty else self.weight
        return sum(rho * (weight * t - v) for rho, v, t in zip(self.rows, y, s, strict=True))

    def dealt(self, known, position):
        if len(known) == 1:
            pairs, own = [(0, 0)], 0
        else:
            own, other = (position + 1) % 3, (position + 2) % 3
            pairs = [(own, own), (own, other), (other, own)]
        total = self.linear(known[own])
        for x, y in pairs:
            total += sum(rho * a * b for rho, a, b in zip(self.rows, known[x][0], known[y][0], strict=True))
        if not position and not self.empty:
            total -= self.weight * sum(self.rows)
        return total % PRIME

    def left(self, sketch, blinds):
        return self.grouped([[rho * v for rho, v in zip(self.rows, sketch[0], strict=True)]], blinds)

    def right(self, sketch, blind):
        return self.grouped([[2 * v for v in sketch[0]]], [blind])


def zero_share(stream):
    return Stream(child_key(stream.key, "zero share")).elements(1)[0]


def added(rows):
    """The sum of vectors of field elements."""
    return [sum(column) % PRIME for column in zip(*rows, strict=True)]


def inner(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True)) % PRIME


def at(rows, point):
    """The values at a point of the polynomials that have these values at 0, 1, .."""
    if point < len(rows):
        return rows[point]
    nodes = range(len(rows))
    whole = math.prod(point - k for k in nodes)
    factors = [
        whole * pow((point - k) * math.prod(k - other for other in nodes if other != k), -1, PRIME) % PRIME
        for k in nodes
    ]
    return [
        sum(f * row[j] for f, row in zip(factors, rows, strict=True)) % PRIME for j in range(len(rows[0]))
    ]
