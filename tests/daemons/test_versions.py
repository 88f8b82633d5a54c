"""Installations that speak different versions of the protocol, each as processes of its own."""

import pytest

from dpmosaic.common.federation.protocol_versions import NEWEST
from support.installations import install_next
from support.mixed_versions import check_mixture, check_rolling_upgrade

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def started_as():
    """Each daemon is a process of the installed command."""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    return install_next(tmp_path_factory.mktemp("later"))


@pytest.mark.parametrize("ahead", ["the curator", "a party"])
def test_who_is_upgraded_before_the_others_makes_releases_with_them(tmp_path, later, ahead):
    curator, parties = (later, [None, None]) if ahead == "the curator" else (None, [later, None])
    check_mixture(tmp_path, curator, parties, NEWEST)


def test_all_are_upgraded_one_by_one_while_a_release_is_under_way(tmp_path, later):
    """A party is killed and upgraded in the middle, then the curator and the other party."""
    check_rolling_upgrade(tmp_path, None, later, NEWEST)
