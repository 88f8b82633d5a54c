"""A second implementation of the protocol of scores, in Python integers and with AES from `cryptography`."""

import io

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


class Reference:
    """The protocol of scores on lists; a plane is a list of bits, including the padding after the last cell.

    The padding has the bits of cells with a = b = 0.
    """

    def __init__(self, ring, cells):
        self.ring, self.cells, self.total = ring, cells, sum(cells)
        self.padded = -(-self.total // 8) * 8
        low = ring - 1
        count = (low + 2) // 3
        sizes = [low // count + (i < low % count) for i in range(count)]
        self.digits = [(sum(sizes[:i]), size) for i, size in enumerate(sizes)]

    def plane(self, stream):
        number = int.from_bytes(stream.read(self.padded // 8), "little")
        return [number >> i & 1 for i in range(self.padded)]

    def words(self, stream):
        return [int.from_bytes(stream.read(self.ring // 8), "little") for _ in range(self.total)]

    def bytes_of_planes(self, planes):
        return b"".join(
            sum(bit << i for i, bit in enumerate(plane)).to_bytes(self.padded // 8, "little")
            for plane in planes
        )

    def bytes_of_words(self, words):
        return b"".join((word % 2**self.ring).to_bytes(self.ring // 8, "little") for word in words)

    def run(self, keys, a, b):
        """The messages in order, and the shares of the scores of evaluators 1 and 2.

        Args:
            keys: keys of the pairs (0, 1), (0, 2) and (1, 2).
            a: a of every cell.
            b: b of every cell.
        """
        s01, s02, s12 = map(key_stream, keys)
        full_a, full_b = ([*words] + [0] * (self.padded - self.total) for words in (a, b))
        messages = []

        # The assistant's digits, one-hot, under planes that evaluator 1 draws.
        hot = [
            [int((x >> start) % 2**size == v) for x in full_a]
            for start, size in self.digits
            for v in range(1, 2**size)
        ]
        pads = [self.plane(s01) for _ in hot]
        messages.append(self.bytes_of_planes(map(added, hot, pads)))

        # Components 1 and 0 of the wires are drawn; 1 and 2 open the rest to each other. Evaluator 1 uses the
        # pads, evaluator 2 the padded values; the constant is evaluator 1's.
        names = [("g", i) for i in range(len(self.digits))] + [("p", i) for i in range(1, len(self.digits))]
        drawn1 = {name: self.plane(s01) for name in names}
        drawn0 = {name: self.plane(s02) for name in names}
        mine = self.table_wires(pads, full_b, True)
        theirs = self.table_wires(map(added, hot, pads), full_b, False)
        opened1 = {name: added(mine[name], drawn1[name]) for name in names}
        opened2 = {name: added(theirs[name], drawn0[name]) for name in names}
        messages += [self.bytes_of_planes(opened.values()) for opened in (opened1, opened2)]
        wires = {name: [drawn0[name], drawn1[name], added(opened1[name], opened2[name])] for name in names}

        count = len(self.digits)
        while count > 1:
            pairs = count // 2
            gates = {("g", j): (("p", 2 * j + 1), ("g", 2 * j)) for j in range(pairs)}
            gates |= {("p", j): (("p", 2 * j + 1), ("p", 2 * j)) for j in range(1, pairs)}
            z01, z02, z12 = ({gate: self.plane(stream) for gate in gates} for stream in (s01, s02, s12))
            zeros = [(z01, z02), (z12, z01), (z02, z12)]
            products = {
                gate: [component(wires[left], wires[right], i, zeros[i], gate) for i in range(3)]
                for gate, (left, right) in gates.items()
            }
            after = {}
            for j in range(pairs):
                after["g", j] = list(map(added, wires["g", 2 * j + 1], products["g", j]))
                after["p", j] = products.get(("p", j))
            if count % 2:
                after["g", pairs], after["p", pairs] = wires["g", count - 1], wires["p", count - 1]
            for sender in (0, 2, 1) if count > 2 else (2, 1):
                messages.append(self.bytes_of_planes(product[sender] for product in products.values()))
            wires, count = after, count - pairs

        top = self.ring - 1
        zero, one, two = wires["g", 0]
        u = [x ^ y ^ (word >> top) for x, y, word in zip(zero, one, full_a, strict=True)]
        v = [x ^ (word >> top) for x, word in zip(two, full_b, strict=True)]
        signed = [(-1) ** u[i] * word for i, word in enumerate(a)] + [(-1) ** u[i] for i in range(self.total)]
        share1 = self.words(s01) + self.words(s01)
        share2 = [(x - y) % 2**self.ring for x, y in zip(signed, share1, strict=True)]
        messages.append(self.bytes_of_words(share2))
        scores = [
            self.by_clique(
                (-1) ** v[i] * (share[i] + share[self.total + i] * b[i]) for i in range(self.total)
            )
            for share in (share1, share2)
        ]
        return messages, scores

    def table_wires(self, hot, b, constant):
        """The wires of one share of the one-hot digits, from the digits of b."""
        hot, found = iter(hot), {}
        for i, (start, size) in enumerate(self.digits):
            top = 2**size - 1
            digits = [y >> start & top for y in b]
            g, p = [0] * self.padded, [int(constant and y == top) for y in digits]
            for v in range(1, top + 1):
                for k, (bit, y) in enumerate(zip(next(hot), digits, strict=True)):
                    g[k] ^= bit & (v + y > top)
                    p[k] ^= bit & ((v + y == top) ^ (y == top))
            found["g", i], found["p", i] = g, p
        return found

    def by_clique(self, values):
        sums, rest = [], list(values)
        for count in self.cells:
            sums.append(sum(rest[:count]) % 2**self.ring)
            rest = rest[count:]
        return sums


def added(one, other):
    return [x ^ y for x, y in zip(one, other, strict=True)]


def component(left, right, i, zeros, gate):
    """Component i of a product of bits in three components."""
    following = (i + 1) % 3
    terms = zip(
        left[i], left[following], right[i], right[following], *(zero[gate] for zero in zeros), strict=True
    )
    return [x & y ^ x & y1 ^ x1 & y ^ z ^ z1 for x, x1, y, y1, z, z1 in terms]


def key_stream(key):
    cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    return io.BytesIO(cipher.update(bytes(1 << 16)))
