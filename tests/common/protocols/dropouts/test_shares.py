import itertools

import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.dropouts.shares import points_of, restore_key, share_of, value_at

PARTIES, SPARED, OWNER = 6, 2, 3
KEY = RandomStream.from_seed(1).key()
HOLDERS = [place for place in range(PARTIES) if place != OWNER]
SHARES = {p: share_of(RandomStream.from_seed(2).child(str(p)), OWNER, "own") for p in HOLDERS}
POINTS = points_of(KEY, SHARES, SPARED)


@pytest.mark.parametrize("holders", [*itertools.combinations(HOLDERS, PARTIES - SPARED)])
def test_all_parties_but_those_that_may_drop_out_restore_a_key(holders):
    assert restore_key(POINTS, {place: SHARES[place] for place in holders}, PARTIES) == KEY


def test_fewer_parties_restore_no_key():
    few = dict(itertools.islice(SHARES.items(), PARTIES - SPARED - 1))
    with pytest.raises(ProtocolError, match="more parties"):
        restore_key(POINTS, few, PARTIES)


def test_fewer_shares_and_all_points_fit_any_key_as_well():
    """For any other key, the remaining parties have shares with which the owner publishes the same points."""
    known, other = HOLDERS[: PARTIES - SPARED - 1], RandomStream.from_seed(3).key()
    size = len(POINTS) // SPARED
    fixed = {0: int.from_bytes(other, "big")} | {place + 1: SHARES[place] for place in known}
    for number in range(SPARED):
        at = slice(number * size, (number + 1) * size)
        fixed[PARTIES + 1 + number] = int.from_bytes(POINTS[at], "big")
    shares = {place: value_at(fixed, place + 1) for place in HOLDERS}
    assert all(shares[place] == SHARES[place] for place in known)
    assert points_of(other, shares, SPARED) == POINTS


def test_a_share_that_is_none_is_noticed():
    wrong = SHARES | {HOLDERS[0]: SHARES[HOLDERS[0]] + 1}
    with pytest.raises(ProtocolError, match="expected shares of one key"):
        restore_key(POINTS, wrong, PARTIES)


def test_shares_differ_by_holder_owner_and_key():
    pair = RandomStream.from_seed(4)
    found = {share_of(pair, owner, key) for owner in (0, 1) for key in ("0", "1")}
    assert len({*found, share_of(RandomStream.from_seed(5), 0, "0")}) == 5
