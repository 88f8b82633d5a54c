"""No honest role uses a secret for two values, whatever others send it, in which order and how often.

An adversary plays every message of every role of small releases again, in all protocols, variants and numbers
of dealers: late, changed, doubled, in another order, and after roles started again. The lists of methods,
messages, fields, protocols and bindings are read from the product. A failing transcript is named by its
scenario and seed; `tests/soak/adversary.py` plays any number of them.
"""

import pytest

from dpmosaic.common.messages import DeliveryKind
from dpmosaic.common.protocols.alignment.plan import ALIGNMENT
from dpmosaic.common.protocols.registry import protocol_names
from support.adversary.bindings import bindings, forgotten, kind_of, kinds, removed, sites, unbound
from support.adversary.playing import broken
from support.adversary.scenarios import scenarios, script
from support.adversary.script import METHODS
from support.adversary.watching import Watch

pytestmark = pytest.mark.slow

TRANSCRIPTS = 240
PARTS = 8
MOST = 400
"""Transcripts within which a missing binding has to be found."""
SMALLEST = 4
"""Scenarios in which it is looked for."""


@pytest.fixture
def watch(monkeypatch):
    with Watch().installed(monkeypatch) as installed:
        yield installed


def test_the_releases_that_are_played_use_every_message_of_the_service_and_every_protocol():
    steps = [step for scenario in scenarios() for step in script(scenario)]
    kinds = set().union(*(step.kinds for step in steps))
    # Those of dropouts are played in `test_dropouts.py`.
    assert kinds >= {*METHODS} - {"Agree", "Unmask"}
    assert kinds >= {kind.value for kind in DeliveryKind if kind is not DeliveryKind.KEY_POINTS}
    assert {scenario.protocol for scenario in scenarios()} == {ALIGNMENT, *protocol_names(for_daemons=True)}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_honest_role_uses_a_secret_for_two_values(part, watch):
    every = scenarios()
    for seed in range(part, TRANSCRIPTS, PARTS):
        assert broken(every[seed % len(every)], seed, watch) is None


def test_every_binding_of_the_code_is_used_in_some_release():
    assert all(bindings().values())
    assert sites()


@pytest.mark.parametrize("site", sites(), ids=str)
def test_without_a_binding_a_secret_is_used_for_two_values(site, watch, monkeypatch):
    # Those of the fewest steps find as much in less time.
    some = sorted(bindings()[site], key=lambda scenario: len(script(scenario)))[:SMALLEST]
    removed(monkeypatch, site)
    assert found_in(some, watch)


def test_without_bindings_of_messages_two_of_each_kind_are_taken(watch, monkeypatch):
    """The kinds are those that roles take in some release: none has to be listed here."""
    unnoticed = dict(kinds())
    unbound(monkeypatch)
    for seed in range(MOST):
        some = next(iter(unnoticed.values()), None)
        if some is None:
            break
        broken(some[seed % len(some)], seed, watch)
        for kind in map(kind_of, watch.taken_twice()):
            unnoticed.pop(kind, None)
    assert not unnoticed


def test_bindings_that_a_restart_forgets_are_noticed(watch, monkeypatch):
    forgotten(monkeypatch)
    assert found_in(scenarios(), watch)


def found_in(some, watch):
    """Whether one of the first transcripts of these scenarios breaks a rule."""
    return any(broken(some[seed % len(some)], seed, watch) for seed in range(MOST))
