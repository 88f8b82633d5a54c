"""A second implementation of the protocol of scores, in Python integers and with AES from `cryptography`."""

import hashlib
import hmac
import io

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

REPETITIONS = 41


class Stream:
    """A key stream of AES-256 in counter mode, and keys that are derived from its key."""

    def __init__(self, key):
        cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self.key, self.read = key, io.BytesIO(cipher.update(bytes(1 << 21))).read

    def child_key(self, *labels):
        text = b"".join(len(label).to_bytes(4, "big") + label.encode() for label in labels)
        return hmac.digest(self.key, b"dpmosaic child" + text, "sha256")

    def child(self, *labels):
        return Stream(self.child_key(*labels))


class Reference:
    """The protocol of scores; a plane is an integer whose bits are those of the cells, and then padding.

    The padding has the bits of cells with a = b = 0.
    """

    def __init__(self, ring, cells):
        self.ring, self.cells, self.total = ring, cells, sum(cells)
        self.width = -(-self.total // 8)
        self.ones, self.valid = (1 << 8 * self.width) - 1, (1 << self.total) - 1
        low = ring - 1
        count = (low + 2) // 3
        sizes = [low // count + (i < low % count) for i in range(count)]
        self.digits = [range(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(count)]

    def plane(self, stream):
        return int.from_bytes(stream.read(self.width), "little")

    def words(self, stream):
        return [int.from_bytes(stream.read(self.ring // 8), "little") for _ in range(self.total)]

    def bits(self, words):
        """The planes of words, lowest bit first."""
        return [sum((word >> j & 1) << i for i, word in enumerate(words)) for j in range(self.ring)]

    def octets(self, planes):
        return b"".join(plane.to_bytes(self.width, "little") for plane in planes)

    def octets_of_words(self, words):
        return b"".join((word % 2**self.ring).to_bytes(self.ring // 8, "little") for word in words)

    def run(self, keys, a, b):
        """The messages in order, and the shares of the scores of evaluators 1 and 2.

        Args:
            keys: keys of the pairs (0, 1), (0, 2) and (1, 2).
            a: a of every cell.
            b: b of every cell.
        """
        pairs = dict(zip([(0, 1), (0, 2), (1, 2)], map(Stream, keys), strict=True))
        s01, s02, s12 = pairs.values()
        messages, sent = [], {}

        def send(sender, recipient, octets):
            messages.append(octets)
            sent[sender, recipient] = sent.get((sender, recipient), b"") + octets

        # The assistant's products of bits and its highest bit, under planes that evaluator 1 draws.
        bits_a, bits_b = self.bits(a), self.bits(b)
        names = [(i, s) for i, digit in enumerate(self.digits) for s in range(1, 1 << len(digit))]
        own, known = ({name: self.product(bits, *name) for name in names} for bits in (bits_a, bits_b))
        own["top"] = bits_a[-1]
        table1 = {name: self.plane(s01) for name in own}
        table0 = {name: own[name] ^ table1[name] for name in own}
        send(0, 2, self.octets(table0.values()))

        # Components 1 and 0 of the wires are drawn; 1 and 2 open the rest to each other.
        wires = [("g", i) for i in range(len(self.digits))] + [("p", i) for i in range(1, len(self.digits))]
        terms = {wire: self.terms(*wire) for wire in wires}
        drawn1 = {wire: self.plane(s01) for wire in wires}
        drawn0 = {wire: self.plane(s02) for wire in wires}
        one = self.ones
        rows = {1: {"1": one, **without(table1)}, 0: {"1": 0, **without(table0)}, 2: {"1": one, **known}}
        opened = {
            1: {
                wire: drawn1[wire] ^ total(rows[1][s] & rows[2][t] for s, t in terms[wire]) for wire in wires
            },
            2: {
                wire: drawn0[wire] ^ total(rows[0][s] & rows[2][t] for s, t in terms[wire]) for wire in wires
            },
        }
        send(1, 2, self.octets(opened[1].values()))
        send(2, 1, self.octets(opened[2].values()))
        held = {w: [drawn0[w], drawn1[w], opened[1][w] ^ opened[2][w]] for w in wires}

        layers = [[], [], []]
        rests = {(prover, other): [] for prover in range(3) for other in range(3)}
        count = len(self.digits)
        while count > 1:
            gates = {("g", j): (("p", 2 * j + 1), ("g", 2 * j)) for j in range(count // 2)}
            gates |= {("p", j): (("p", 2 * j + 1), ("p", 2 * j)) for j in range(1, count // 2)}
            # The pad of evaluators c - 1 and c, by c.
            pads = {}
            for c, stream in ((1, s01), (0, s02), (2, s12)):
                pads[c] = {gate: self.plane(stream) for gate in gates}
            products = {}
            for gate, (left, right) in gates.items():
                x, y = held[left], held[right]
                products[gate] = [
                    x[c] & y[c] ^ x[c] & y[c - 2] ^ x[c - 2] & y[c] ^ pads[c][gate] ^ pads[(c + 1) % 3][gate]
                    for c in range(3)
                ]
            for c in range(3):
                layers[c] += [held[left][c] for left, _ in gates.values()]
                layers[c] += [held[right][c] for _, right in gates.values()]
                before = (c - 1) % 3
                for gate, (left, right) in gates.items():
                    local = held[left][c] & held[right][c] ^ pads[c][gate] ^ products[gate][c]
                    rests[c, before].append(local)
                    rests[before, c].append(pads[c][gate])
            for sender, recipient in ((0, 2), (2, 1), (1, 0)):
                send(sender, recipient, self.octets(product[sender] for product in products.values()))
            after = {}
            for j in range(count // 2):
                after["g", j] = list(map(int.__xor__, held["g", 2 * j + 1], products["g", j]))
                after["p", j] = products.get(("p", j))
            if count % 2:
                after["g", count // 2], after["p", count // 2] = held["g", count - 1], held["p", count - 1]
            held, count = after, count - count // 2

        # The words of the signs.
        u = [(held["g", 0][c] ^ table["top"]) & self.valid for c, table in ((0, table0), (1, table1))]
        inverted = [word ^ -((u[0] ^ u[1]) >> i & 1) for i, word in enumerate(a)]
        unit = [(u[0] ^ u[1]) >> i & 1 for i in range(self.total)]
        words1 = [self.words(s01), self.words(s01)]
        words0 = [
            [(x - y) % 2**self.ring for x, y in zip(*both, strict=True)]
            for both in zip((inverted, unit), words1, strict=True)
        ]
        send(0, 2, self.octets_of_words([*words0[0], *words0[1]]))
        v = held["g", 0][2] ^ bits_b[-1]
        scores = [
            self.by_clique(
                (-1) ** (v >> i & 1) * (t[i] + n[i] + (first - 2 * n[i]) * b[i]) for i in range(self.total)
            )
            for first, (t, n) in ((1, words1), (0, words0))
        ]

        sides = {}
        for prover, evaluator, c in ((1, 0, 1), (1, 2, 2), (2, 0, 0), (2, 1, 2)):
            rest = opened[prover] if c == 2 else (drawn0, drawn1)[c]
            sides[prover, evaluator] = [(list(rows[c].values()), list(rest.values()))]
        for prover in range(3):
            for other in {0, 1, 2} - {prover}:
                c = prover if other == (prover - 1) % 3 else other
                sides.setdefault((prover, other), []).append((layers[c], rests[prover, other]))
        for other, table, sign, words in ((2, table0, u[0], words0), (1, table1, u[1], words1)):
            sides[0, other].append(self.sign_side(table, sign, words))
        layered, start = [], 0
        for count in self.layer_sizes():
            layered += [
                [(start + i, start + count + i), (start + count + i, start + i)] for i in range(count)
            ]
            start += 2 * count
        index = {name: i for i, name in enumerate(rows[2])}
        opening = [[(index[s], index[t]) for s, t in terms[wire]] for wire in wires]
        equations = {0: [layered, self.sign_equations()], 1: [opening, layered], 2: [opening, layered]}
        return messages + self.proofs(pairs, sent, sides, equations), scores

    def product(self, bits, digit, members):
        found = self.ones
        for i, place in enumerate(self.digits[digit]):
            found &= bits[place] if members >> i & 1 else self.ones
        return found

    def terms(self, kind, digit):
        """A wire as a sum of products of bits of a times products of bits of b, as one adds by hand."""
        carry, passes = set(), {(0, 0)}
        for i in range(len(self.digits[digit])):
            either, both = {(1 << i, 0), (0, 1 << i)}, (1 << i, 1 << i)
            carry, passes = {both} ^ times(either, carry), times(either, passes)
        named = [tuple((digit, s) if s else "1" for s in term) for term in (carry if kind == "g" else passes)]
        return sorted(named, key=str)

    def layer_sizes(self):
        count, sizes = len(self.digits), []
        while count > 1:
            sizes.append(2 * (count // 2) - 1)
            count -= count // 2
        return sizes

    def table_rules(self):
        """Products of two and more bits: all but the last one, the last one, all of them."""
        for i, digit in enumerate(self.digits):
            for s in range(1, 1 << len(digit)):
                last = 1 << s.bit_length() - 1
                if s != last:
                    yield (i, s - last), (i, last), (i, s)

    def sign_factors(self):
        """Names of the products that are factors: single bits, and what is multiplied with another one."""
        single = {(i, 1 << k) for i, digit in enumerate(self.digits) for k in range(len(digit))}
        return sorted(single | {rule[0] for rule in self.table_rules()})

    def sign_side(self, table, sign, words):
        single = [(i, 1 << k) for i, digit in enumerate(self.digits) for k in range(len(digit))]
        summed = [[table[name] ^ sign for name in [*single, "top"]], [sign] + [0] * (self.ring - 1)]
        rest = [table[x] & table[y] ^ table[z] for x, y, z in self.table_rules()]
        factors = [table[name] for name in self.sign_factors()] + [sign]
        for bits, of_words in zip(summed, words, strict=True):
            carries = [x ^ t for x, t in zip(bits, self.bits(of_words), strict=True)]
            factors += carries[:-1]
            rest.append(carries[0])
            rest += [bits[j] & carries[j] ^ carries[j] ^ carries[j + 1] for j in range(self.ring - 1)]
        return factors, rest

    def sign_equations(self):
        place = {name: i for i, name in enumerate(self.sign_factors())}
        sign, low = len(place), self.ring - 1
        found = [[(place[x], place[y]), (place[y], place[x])] for x, y, _ in self.table_rules()]
        found.append([])
        single = [(i, 1 << k) for i, digit in enumerate(self.digits) for k in range(len(digit))]
        for j, name in enumerate(single):
            carry = sign + 1 + j
            found.append(
                [(x, y) for x in (place[name], sign) for y in (place[name], sign)] + [(carry, carry)]
            )
        found.append([])
        for j in range(low):
            carry = sign + 1 + low + j
            found.append([(carry, carry)] + ([(sign, sign)] if j == 0 else []))
        return found

    def proofs(self, pairs, sent, sides, equations):
        """The messages of the proofs."""
        proofs, challenges, responses = [], [], []
        for prover, helper, verifier in ((0, 1, 2), (1, 0, 2), (2, 0, 1)):
            to_helper, to_verifier = (
                hashlib.sha256(sent.get((prover, to), b"")).digest() for to in (helper, verifier)
            )
            key = hashlib.sha256(bytes([prover]) + to_helper + to_verifier).digest()
            points = [plane_hash(key, self.octets([1 << i])) for i in range(8 * self.width)]
            points = [int.from_bytes(point, "little") for point in points]
            labels = "proof of an evaluator", str(prover)
            common = pairs[tuple(sorted((prover, helper)))].child(*labels)
            coins = pairs[tuple(sorted((helper, verifier)))].child(*labels)
            shares, masks, message = [], [], to_helper
            for (x, _), (y, _) in zip(sides[prover, helper], sides[prover, verifier], strict=True):
                masks.append([self.plane(common) for _ in range(REPETITIONS)])
                size = len(x) + REPETITIONS, len(y)
                shares.append(
                    [[int.from_bytes(common.read(16), "little") for _ in y] for _ in range(size[0])]
                )
                for row, share in zip(x + masks[-1], shares[-1], strict=True):
                    for other, word in zip(y, share, strict=True):
                        message += (hashed(points, row & other) ^ word).to_bytes(16, "little")
            drawn = coins.child_key(key.hex(), hashlib.sha256(message[32:]).hexdigest())
            stream, sums, expected = Stream(drawn), b"", hashlib.sha256()
            for (x, rest), blinds, share, rules in zip(
                sides[prover, helper], masks, shares, equations[prover], strict=True
            ):
                bits = stream.read(-(-REPETITIONS * len(x) // 8))
                for t in range(REPETITIONS):
                    places = [t * len(x) + i for i in range(len(x))]
                    chosen = [i for i, n in enumerate(places) if bits[n // 8] >> 7 - n % 8 & 1]
                    sums += self.octets([total(x[i] for i in chosen) ^ blinds[t]])
                    for j in range(len(share[0])):
                        word = total(share[i][j] for i in chosen) ^ share[len(x) + t][j]
                        expected.update(word.to_bytes(16, "little"))
                for rule, plane in zip(rules, rest, strict=True):
                    word = total(share[i][j] for i, j in rule) ^ hashed(points, plane)
                    expected.update(word.to_bytes(16, "little"))
            response = common.child_key((key + drawn).hex())
            tagged = to_helper + hashlib.sha256(sums).digest() + expected.digest()
            proofs.append(message)
            challenges += [key + drawn] * 2
            responses += [response + sums, hmac.digest(response, tagged, "sha256")]
        return proofs + challenges + responses

    def by_clique(self, values):
        sums, rest = [], list(values)
        for count in self.cells:
            sums.append(sum(rest[:count]) % 2**self.ring)
            rest = rest[count:]
        return sums


def without(table):
    return {name: plane for name, plane in table.items() if name != "top"}


def total(planes):
    found = 0
    for plane in planes:
        found ^= plane
    return found


def times(one, other):
    """The product of two sums of products; what occurs twice cancels."""
    found = set()
    for s, t in one:
        found ^= {(s | x, t | y) for x, y in other}
    return found


def hashed(points, plane):
    return total(point for i, point in enumerate(points) if plane >> i & 1)


def field_product(one, other):
    """The product of two elements of GF(2^128) as GCM represents them: the first bit is the constant."""
    found = 0
    for place in range(127, -1, -1):
        if other >> place & 1:
            found ^= one
        one = one >> 1 ^ (0xE1 << 120 if one & 1 else 0)
    return found


def plane_hash(key, octets):
    """The sum of blocks of 16 bytes times powers of the hash key of GCM, of the last one its square."""
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    point = int.from_bytes(cipher.update(bytes(16)), "big")
    total = 0
    for start in range(0, len(octets), 16):
        block = octets[start : start + 16].ljust(16, b"\0")
        total = field_product(total ^ int.from_bytes(block, "big"), point)
    return field_product(total, point).to_bytes(16, "big")
