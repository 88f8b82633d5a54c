"""Tokens under keys of which every party has one, against a second implementation of the group."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common import extras
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import MissingExtraError, ProtocolError
from dpmosaic.common.protocols.alignment import ddh
from dpmosaic.common.protocols.alignment.ddh import group_tokens, hash_to_group, raise_to, secret_scalar
from dpmosaic.common.protocols.alignment.dummies import AlignmentNoise
from dpmosaic.common.protocols.alignment.matching import match
from dpmosaic.common.protocols.alignment.plan import DDH
from dpmosaic.common.protocols.alignment.tokens import party_tokens
from support import edwards25519 as edwards

pytestmark = pytest.mark.slow

SECRETS = [bytes([i] * 32) for i in (1, 2, 3)]
SCALARS = [secret_scalar(secret) for secret in SECRETS]


def tokens(count, seed=0):
    return RandomStream.from_seed(seed).words(2 * count).reshape(count, 1, 2)


def points_of(*encoded):
    return np.array([list(one) for one in encoded], dtype=np.uint8)


def torsion():
    """The eight points whose order divides eight."""
    for y in range(2, 100):
        try:
            found = edwards.multiply(edwards.ORDER, edwards.with_sign(y, 0))
        except AssertionError:
            continue
        points = [edwards.multiply(i, found) for i in range(8)]
        if len(set(points)) == 8:
            return points
    raise AssertionError


def test_points_are_those_of_the_second_implementation():
    given = tokens(5)
    points = hash_to_group(given)
    assert points.shape == (5, 1, 32)
    for token, point in zip(given, points, strict=True):
        assert point.tobytes() == edwards.encode(edwards.hashed(token.tobytes()))


def test_multiples_are_those_of_the_second_implementation():
    points = hash_to_group(tokens(3))
    for secret, scalar in zip(SECRETS, SCALARS, strict=True):
        assert int.from_bytes(scalar, "little") == edwards.scalar(secret)
        for point, multiple in zip(points, raise_to(points, scalar), strict=True):
            expected = edwards.multiply(edwards.scalar(secret), edwards.decode(point.tobytes()))
            assert multiple.tobytes() == edwards.encode(expected)


def test_every_order_of_the_parties_ends_with_the_same_tokens():
    points = hash_to_group(tokens(4))
    one = raise_to(raise_to(raise_to(points, SCALARS[0]), SCALARS[1]), SCALARS[2])
    other = raise_to(raise_to(raise_to(points, SCALARS[2]), SCALARS[0]), SCALARS[1])
    assert group_tokens(one).tolist() == group_tokens(other).tolist()
    assert group_tokens(one).shape == (4, 1, 2)
    assert len({token.tobytes() for token in group_tokens(one)}) == 4


def test_final_tokens_are_hashes_of_the_points():
    points = hash_to_group(tokens(3))
    assert [token.tobytes() for token in group_tokens(points)] == [
        hashlib.sha256(b"dpmosaic point token" + point.tobytes()).digest()[:16] for point in points
    ]


def test_points_do_not_depend_on_the_sizes_of_blocks(monkeypatch):
    given = tokens(20)
    whole = raise_to(hash_to_group(given), SCALARS[0])
    monkeypatch.setattr(ddh, "_POINTS_AT_ONCE", 3)
    assert raise_to(hash_to_group(given), SCALARS[0]).tolist() == whole.tolist()


@pytest.mark.parametrize("number", range(8))
def test_a_point_of_small_order_is_refused(number):
    with pytest.raises(ProtocolError, match="expected points of the group of prime order"):
        raise_to(points_of(edwards.encode(torsion()[number])), SCALARS[0])


@pytest.mark.parametrize("number", range(1, 8))
def test_a_point_outside_the_subgroup_is_refused(number):
    point = edwards.add(edwards.hashed(b"token"), torsion()[number])
    with pytest.raises(ProtocolError, match="expected points of the group of prime order"):
        raise_to(points_of(edwards.encode(point)), SCALARS[0])


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(edwards.P + 1, id="the neutral point, not canonical"),
        pytest.param(edwards.P + 3, id="not canonical"),
        pytest.param((1 << 255) + 1, id="the neutral point with a sign"),
        pytest.param(2, id="not on the curve"),
        pytest.param((1 << 256) - 1, id="all ones"),
    ],
)
def test_bytes_that_encode_no_point_are_refused(number):
    with pytest.raises(ProtocolError, match="expected points of the group of prime order"):
        raise_to(points_of(number.to_bytes(32, "little")), SCALARS[0])


def test_one_wrong_point_among_many_is_refused_and_not_named():
    points = hash_to_group(tokens(9))
    points[7, 0] = 255
    with pytest.raises(ProtocolError) as refusal:
        raise_to(points, SCALARS[0])
    assert "7" not in str(refusal.value)
    assert "255" not in str(refusal.value)


def test_without_the_extra_the_error_states_how_to_install_it(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpmosaic\[ddh\]'"):
        hash_to_group(tokens(1))


def test_people_of_both_parties_get_one_position_and_padding_hides_the_number_of_rows():
    key, sigma = bytes(range(32)), 0.2
    names = [[b"ada", b"bob", b"", b"dan"], [b"dan", b"", b"ada"]]
    own = [party_tokens(key, 0, 2, j, sigma, [names[j]], RandomStream.from_seed(j), DDH) for j in range(2)]
    sent = [raise_to(raise_to(hash_to_group(own[j].tokens), SCALARS[j]), SCALARS[1 - j]) for j in range(2)]
    found = match([group_tokens(points) for points in sent], sigma, RandomStream.from_seed(9), DDH)
    left, right = (one.rows(at).tolist() for one, at in zip(own, found.positions, strict=True))
    assert (left[0], left[3]) == (right[2], right[0])
    assert len({*left, *right}) == 5


@pytest.mark.parametrize("parties", [2, 5])
def test_the_padding_of_a_party_has_the_variance_that_its_parties_need(parties):
    # The variance of 1,000 draws is off by a fifth for fewer than 1 of 10^4 seeds.
    key, sigma = bytes(range(32)), 1.0
    sizes = [
        len(party_tokens(key, 0, parties, 0, sigma, [[b"a"]], RandomStream.from_seed(seed), DDH).tokens)
        for seed in range(1_000)
    ]
    assert np.var(sizes) / (parties**2 + 1) == pytest.approx(1, abs=0.2)


def test_published_numbers_of_people_are_right_on_average_with_padding():
    empty = [np.zeros((0, 1, 2), dtype=np.uint64)] * 2
    found = [match(empty, 2.0, RandomStream.from_seed(seed), DDH) for seed in range(1_000)]
    noise = AlignmentNoise(2.0, 2, DDH)
    drawn = np.array([one.people for one in found]) + noise.shifts[1:]
    # Each is rejected for fewer than 1 of 10^4 choices of the seeds.
    assert stats.ttest_1samp(drawn.reshape(-1), 0).pvalue > 1e-4
    assert np.var(drawn) / (5 * 2.0**2) == pytest.approx(1, abs=0.15)
    sizes = np.array([one.size for one in found]) - noise.empty(1).shift
    assert stats.ttest_1samp(sizes, 0).pvalue > 1e-4


def test_alone_a_party_adds_no_padding():
    assert AlignmentNoise(1.0, 1, DDH).padding is None
