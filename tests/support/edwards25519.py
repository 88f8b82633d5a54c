"""A second implementation of edwards25519, in Python integers; a point is (x, y).

The map from bytes follows RFC 9380, section 6.7.1 and appendix D.1, with the highest bit as the sign of x.
"""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
A = 486662
NEUTRAL = (0, 1)


def root(square):
    found = pow(square, (P + 3) // 8, P)
    if found * found % P != square:
        found = found * pow(2, (P - 1) // 4, P) % P
    assert found * found % P == square
    return found


def with_sign(y, sign):
    x = root((y * y - 1) * pow(D * y * y + 1, -1, P) % P)
    return (x if x & 1 == sign else P - x, y)


def add(one, other):
    (x, y), (u, v) = one, other
    product = D * x * u * y * v % P
    return ((x * v + u * y) * pow(1 + product, -1, P) % P, (y * v + x * u) * pow(1 - product, -1, P) % P)


def multiply(number, point):
    result = NEUTRAL
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def encode(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def decode(encoded):
    number = int.from_bytes(encoded, "little")
    return with_sign(number & (1 << 255) - 1, number >> 255)


def mapped(half):
    number = int.from_bytes(half, "little")
    sign, u = number >> 255, number & (1 << 255) - 1
    x = -A * pow(1 + 2 * u * u, -1, P) % P
    if pow(x**3 + A * x * x + x, (P - 1) // 2, P) != 1:
        x = (-x - A) % P
    return multiply(8, with_sign((x - 1) * pow(x + 1, -1, P) % P, sign))


def hashed(token):
    digest = hashlib.sha512(b"dpmosaic point" + token).digest()
    return add(mapped(digest[:32]), mapped(digest[32:]))


def scalar(secret):
    return int.from_bytes(hashlib.sha512(b"dpmosaic scalar" + secret).digest(), "little") % ORDER
