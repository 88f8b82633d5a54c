"""A second implementation of the protocol of scores, in Python integers and with AES from `cryptography`."""

import io
import math
from itertools import combinations

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


class Reference:
    """The protocol of scores on lists; a plane is a list of bits, including the padding after the last cell.

    The padding has the bits of cells with b = delta = 0.
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

    # The wires of digit i are (0, i) for g and (1, i) for p, in the order of these pairs.

    def products(self, layer):
        """For each group, the factors of every product in g, and those of p."""
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

    def run(self, keys, shares, dealt):
        """The openings of each round, and both shares of the scores.

        Args:
            keys: keys of the evaluators' streams.
            shares: both evaluators' shares of the differences.
            dealt: message of the dealer.
        """
        streams = [key_stream(key) for key in keys]
        masks = [self.masks(stream) for stream in streams]
        rest = [self.complement(streams[0]), self.complement(io.BytesIO(dealt))]
        opened = []

        def exchange(sent):
            opened.append(sent)
            return [io.BytesIO(sent[1]), io.BytesIO(sent[0])]

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
