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


class OneHot:
    """The proof that rows are one-hot, or also zero, of one matrix."""

    def __init__(self, bits, coins, rows, cells, empty):
        self.bits, self.empty = bits, empty
        stream = Stream(child_key(coins, "one-hot challenge"))
        self.columns = stream.elements(cells + empty)
        self.rows, self.weights = stream.elements(rows), stream.elements(3)

    def sums(self, matrix, masks, bits):
        """z, y and s of each row of one role: its additive part of U = A + E - 2^bits."""
        z, y, s = [], [], []
        for words in matrix:
            row = [word % 2**bits for word in words]
            if self.empty:
                row.append(((0 if masks else 1) - sum(words)) % 2**bits)
            part = [word or 2**bits for word in row] if masks else [word - 2**bits for word in row]
            z.append(sum(r * u for r, u in zip(self.columns, part, strict=True)) % PRIME)
            y.append(sum(r * r * u for r, u in zip(self.columns, part, strict=True)) % PRIME)
            s.append(sum(part) % PRIME)
        return z, y, s

    def sketch(self, matrix, masks):
        return [self.sums(matrix, masks, bits) for bits in sorted({32, self.bits})]

    def local(self, sketch, masks):
        """What a role adds alone; the dealer also adds the constants of the conditions on s."""
        first, second, third = self.weights
        (z, y, s), *whole = sketch
        total = 0
        for i, rho in enumerate(self.rows):
            row = z[i] * z[i] - s[i] * y[i] + first * self.unit(s[i], 32, masks)
            if whole:
                ((zz, yy, ss),) = whole
                row += second * (zz[i] * z[i] - s[i] * yy[i]) + third * self.unit(ss[i], 64, masks)
            total += rho * row
        return total % PRIME

    def unit(self, s, bits, masks):
        return s * (s + 2**bits - 2) + (1 - 2**bits if masks else 0)

    def left(self, sketch, blind):
        vectors = [
            [rho * v for rho, v in zip(self.rows, vector, strict=True)]
            for z, y, s in sketch
            for vector in (z, s, y)
        ]
        return self.grouped(vectors, blind)

    def right(self, sketch, blind):
        first, second, third = self.weights
        (z, y, s), *whole = sketch
        vectors = [
            [2 * v for v in z],
            [2 * first * a - b for a, b in zip(s, y, strict=True)],
            [-v for v in s],
        ]
        for zz, yy, ss in whole:
            vectors[0] = [a + second * b for a, b in zip(vectors[0], zz, strict=True)]
            vectors[1] = [a - second * b for a, b in zip(vectors[1], yy, strict=True)]
            vectors += [[second * v for v in z], [2 * third * v for v in ss], [-second * v for v in s]]
        return self.grouped(vectors, blind)

    def grouped(self, vectors, blind):
        width = -(-len(self.rows) // GROUPS)
        padded = [vector + [0] * (GROUPS * width - len(vector)) for vector in vectors]
        groups = [[v % PRIME for p in padded for v in p[g * width : (g + 1) * width]] for g in range(GROUPS)]
        return [blind.elements(len(groups[0])), *groups]

    def prove(self, mask, opening, dealer, receiver):
        left, right = self.left(mask, dealer), self.right(opening, receiver)
        values = [inner(at(left, t), at(right, t)) for t in range(2 * GROUPS + 1)]
        return [(v - b) % PRIME for v, b in zip(values, dealer.elements(2 * GROUPS + 1), strict=True)]

    def attest(self, mask, dealer, points):
        left, share = self.left(mask, dealer), dealer.elements(2 * GROUPS + 1)
        point = 0
        while point <= 2 * GROUPS + 1:
            (point,) = points.elements(1)
        known = (self.local(mask, True) + sum(share[1 : GROUPS + 1])) % PRIME
        return [point, known, at([[v] for v in share], point)[0], *at(left, point)]

    def holds(self, opening, proof, attestation, receiver):
        point, known, shared, *vector = attestation
        zero = (known + self.local(opening, False) + sum(proof[1 : GROUPS + 1])) % PRIME
        value = (at([[v] for v in proof], point)[0] + shared) % PRIME
        return zero == 0 and value == inner(vector, at(self.right(opening, receiver), point))


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
