"""What a secret hides is bound to it for ever, in the file of the ledger."""

import contextlib
from dataclasses import replace

import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.promises.binding import Binding
from dpmosaic.party.accounts.accepted import LedgerBindings
from dpmosaic.party.accounts.ledger import Ledger
from support.ledgers import DATA, SECRET, TERMS, anything
from support.terms import RELEASE_ID, id_of

ONE, OTHER = "a" * 64, "b" * 64


def binding(ledger, release_id=RELEASE_ID):
    return Binding(LedgerBindings(ledger, release_id))


def test_another_content_is_refused_also_after_a_restart(ledger, path):
    binding(ledger).use("mask", "first", ONE)
    with pytest.raises(ProtocolError, match=r"got another \(mask\)"):
        binding(ledger).use("mask", "first", OTHER)
    ledger.close()
    with contextlib.closing(Ledger(path)) as again:
        assert binding(again).used("mask", "first") == ONE
        with pytest.raises(ProtocolError, match=r"got another \(mask\)"):
            binding(again).use("mask", "first", OTHER)


def test_the_same_content_may_be_used_again(ledger):
    for _ in range(2):
        binding(ledger).use("mask", "first", ONE)


def test_each_use_has_a_content_of_its_own(ledger):
    ledger.reserve(replace(TERMS, release_id=id_of("s")), DATA, SECRET, anything)
    binding(ledger).use("mask", "first", ONE)
    binding(ledger).use("mask", "second", OTHER)
    binding(ledger).use("pads", "first", OTHER)
    binding(ledger, id_of("s")).use("mask", "first", OTHER)
    assert binding(ledger).used("mask", "third") is None


def test_a_content_is_on_disk_before_it_may_be_used(ledger, path):
    binding(ledger).use("mask", "first", ONE)
    with contextlib.closing(Ledger(path)) as beside:
        assert beside.bound(RELEASE_ID, "mask", "first") == ONE
