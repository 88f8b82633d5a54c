"""The introductions as a model: searched through all states, and broken in three ways.

Needs the package `maude`, which is in no extra.
"""

from pathlib import Path

import pytest

MODEL = Path(__file__).parents[3] / "docs" / "specification" / "introductions.maude"
CLAIMS = ("known", "disagrees")


@pytest.fixture(scope="module")
def found():
    """Whether a state with this property can be reached, by what an implementation lacks."""
    maude = pytest.importorskip("maude")
    maude.init(advise=False)
    assert maude.load(str(MODEL))
    module = maude.getModule("CLAIMS")

    def search(weakness, what):
        start, state = module.parseTerm(f"start({weakness})"), module.parseTerm("S:State")
        holds = maude.EqualityCondition(module.parseTerm(f"{what}(S:State)"), module.parseTerm("true"))
        return next(iter(start.search(maude.ANY_STEPS, state, [holds])), None) is not None

    return search


@pytest.mark.parametrize("claim", CLAIMS)
def test_no_state_violates_a_claim(found, claim):
    assert not found("nothing", claim)


def test_an_honest_introduction_ends(found):
    assert found("nothing", "ends")


@pytest.mark.parametrize(
    ("weakness", "claim"),
    [
        ("comparison", "known"),
        ("comparison", "disagrees"),
        ("pins", "known"),
        ("pins", "disagrees"),
        ("termsInSignature", "disagrees"),
    ],
)
def test_what_an_implementation_could_forget_violates_one(found, weakness, claim):
    assert found(weakness, claim)
