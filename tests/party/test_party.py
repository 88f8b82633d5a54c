import hashlib
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from support.parties import party_of

from dpmosaic import __version__
from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.crypto.identity import Identity, verify
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.interactions import difference_count
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import BudgetError, DataError, MosaicError, PolicyError, ProtocolError
from dpmosaic.common.messages import (
    PROTOCOL_VERSION,
    Acceptance,
    AnswerForm,
    Introduction,
    MarginalQuery,
    OpeningRequest,
    PartyDescription,
    ReleaseTerms,
)
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, grid_of
from dpmosaic.common.wire.queries import encode_query
from dpmosaic.common.wire.streams import decode_answer
from dpmosaic.party.ledger import Ledger
from dpmosaic.party.policy import Policy
from dpmosaic.party.serving.servicer import PartyServicer

DOMAIN = Domain.coded({"a": 100, "b": 60, "c": 3})
IDENTITY = Identity.from_seed(b"n" * 32)
TERMS = ReleaseTerms("r", PROTOCOL_VERSION, "indicator", Adjacency.ZERO_OUT, 1.0)
QUERY = MarginalQuery("r", "q", AnswerForm.HISTOGRAM, ("a", "b"), 3.0)
RECORD_WISE = replace(QUERY, form=AnswerForm.RECORD_WISE, clique=("b", "c"))
POLICY = Policy(
    protocols=frozenset({"trusted", "indicator"}),
    adjacencies=frozenset(Adjacency),
    max_release_rho=Fraction(10**9),
    lifetime_rho=Fraction(10**9),
    max_cells=6_000,
)


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, size, 700) for size in DOMAIN.sizes]))


@pytest.fixture
def ledger():
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture
def party(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(TERMS))
    return party


def started(table, ledger, policy=POLICY, seed=1):
    keys = RandomStream.from_seed(seed)
    return party_of("north", table, policy, ledger=ledger, keys=keys, identity=IDENTITY)


def asked(party, query, rows=1):
    """The answer in counts, shape (rows, cells, or differences of an interaction)."""
    domain = party.describe().domain
    cells = len(query.boxes) or domain.cells(query.clique)
    if query.interaction:
        cells = difference_count(domain.shape(query.clique))
    integers = list(decode_answer(party.answer(query), rows, cells, 64))
    return np.concatenate(integers) / grid_of(query.sigma)


def test_a_party_says_who_it_is_and_nothing_of_its_values(party):
    assert party.describe() == PartyDescription(
        "north", PROTOCOL_VERSION, __version__, DOMAIN, 700, ("indicator", "trusted"), IDENTITY.public
    )


def test_a_party_signs_what_it_accepts(party):
    accepted = party.accept(encode_terms(TERMS))
    signed = hashlib.sha256(encode_terms(TERMS)).digest() + accepted.ephemeral
    verify(IDENTITY.public, "acceptance of a release", signed, accepted.signature)
    assert len(accepted.ephemeral) == 32


def test_a_party_has_one_key_for_each_release_and_the_same_one_after_a_restart(table, tmp_path):
    before = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, before, seed=1)
    first = [party.accept(encode_terms(replace(TERMS, release_id=release))) for release in ("r", "s")]
    assert first[0].ephemeral != first[1].ephemeral
    before.close()
    after = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, after, seed=2)
    assert [party.accept(encode_terms(replace(TERMS, release_id=release))) for release in ("r", "s")] == first
    after.close()


@pytest.mark.parametrize("sigma", [0.3, 3.0, 400.0])
def test_a_histogram_is_unbiased_and_has_the_noise_of_its_sigma(table, ledger, sigma):
    """A correct party fails one of these six checks in fewer than 1 of 100,000 choices of the seed."""
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, granted_rho=10.0)))
    noise = asked(party, replace(QUERY, sigma=sigma))[0] - table.marginal(("a", "b"))
    assert abs(noise.mean()) < 5 * sigma / math.sqrt(noise.size)
    squares = stats.chi2(noise.size)
    assert squares.ppf(5e-7) < np.sum((noise / sigma) ** 2) < squares.isf(5e-7)


def test_a_record_wise_answer_is_unbiased_and_has_the_noise_of_its_sigma(table, party):
    """A correct party fails one of these two checks in fewer than 1 of 500,000 choices of the seed."""
    indicators = np.eye(180)[table.cell_codes(("b", "c"), 0, 700)]
    noise = asked(party, RECORD_WISE, rows=700) - indicators
    assert noise.shape == (700, 180)
    assert abs(noise.mean()) < 5 * 3.0 / math.sqrt(noise.size)
    squares = stats.chi2(noise.size)
    assert squares.ppf(5e-7) < np.sum((noise / 3.0) ** 2) < squares.isf(5e-7)


def test_a_record_wise_answer_has_a_row_with_one_one_for_every_record_in_their_order(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, granted_rho=1e8)))
    indicators = asked(party, replace(RECORD_WISE, sigma=1e-4), rows=700)
    assert np.array_equal(np.rint(indicators), np.eye(180)[table.cell_codes(("b", "c"), 0, 700)])
    assert np.abs(indicators.sum(axis=1) - 1).max() < 180 * 15 * 1e-4
    assert np.any(indicators != np.rint(indicators))


@pytest.mark.parametrize("query", [QUERY, RECORD_WISE])
def test_the_same_query_again_gets_the_same_bytes_and_is_charged_once(party, ledger, query):
    first = list(party.answer(query))
    assert list(party.answer(query)) == first
    assert ledger.spent("r") == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_the_same_query_gets_the_same_bytes_after_a_restart(table, tmp_path):
    before = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, before, seed=1)
    party.accept(encode_terms(TERMS))
    first = list(party.answer(QUERY))
    before.close()
    after = Ledger(tmp_path / "ledger.sqlite")
    party = started(table, after, seed=2)
    party.accept(encode_terms(TERMS))
    assert list(party.answer(QUERY)) == first
    assert after.spent("r") == gaussian_cost(3.0, Adjacency.ZERO_OUT)
    after.close()


def test_another_id_and_another_party_get_other_noise(table, party):
    other = started(table, Ledger(), seed=2)
    other.accept(encode_terms(TERMS))
    answers = [
        asked(party, QUERY)[0],
        asked(party, replace(QUERY, query_id="q2"))[0],
        asked(other, QUERY)[0],
    ]
    for one, two in [(0, 1), (0, 2), (1, 2)]:
        # Independent noise agrees in a cell with probability under 0.01: in half of them, never.
        assert np.mean(answers[one] == answers[two]) < 0.5


def test_a_large_sigma_is_sent_in_wider_words(table, party):
    noise = asked(party, replace(QUERY, sigma=1e9))[0]
    assert 2**31 < np.abs(noise).max() < 15e9


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("query", [QUERY, RECORD_WISE])
def test_the_party_charges_what_its_own_noise_costs(table, ledger, query, adjacency):
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, adjacency=adjacency)))
    sigma = gaussian_sigma(Fraction(1), adjacency)
    with pytest.raises(BudgetError, match="more than is left"):
        party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert ledger.spent("r") == 0
    party.answer(replace(query, sigma=sigma))
    assert ledger.spent("r") == gaussian_cost(sigma, adjacency)
    assert 1 - 1e-9 < ledger.spent("r") <= 1


def test_a_query_is_charged_before_its_first_frame_is_read(party, ledger):
    party.answer(RECORD_WISE)
    assert ledger.spent("r") == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_a_trusted_release_gets_histograms_and_no_record_wise_answers(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, protocol="trusted")))
    with pytest.raises(ProtocolError, match="'trusted' has no answers of the form RECORD_WISE"):
        party.answer(RECORD_WISE)
    assert ledger.spent("r") == 0
    assert asked(party, QUERY).shape == (1, 6_000)


@pytest.mark.parametrize(
    ("change", "kind", "reason"),
    [
        ({"release_id": "s"}, ProtocolError, "accept it first"),
        ({"clique": ("a", "z")}, ProtocolError, "attributes that can be asked for"),
        ({"clique": ("b", "a")}, ProtocolError, "attributes that can be asked for, in domain order"),
        ({"clique": ("a", "a")}, DataError, "named twice: a"),
        ({"clique": ("a", "b", "c")}, PolicyError, "max_cells"),
        ({"sigma": 2.0**-21}, BudgetError, "lower the budget"),
        ({"sigma": 0.1}, BudgetError, "more than is left"),
    ],
)
@pytest.mark.parametrize("form", [AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE])
def test_a_query_that_does_not_fit_is_refused_with_a_typed_error_and_charged_nothing(
    party, ledger, change, kind, reason, form
):
    with pytest.raises(kind, match=reason):
        party.answer(replace(QUERY, form=form, **change))
    assert ledger.spent("r") == 0
    party.answer(QUERY)


@pytest.mark.parametrize("protocol", ["trusted", "indicator"])
def test_a_release_without_masks_gets_no_masked_shares(table, ledger, protocol):
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, protocol=protocol)))
    with pytest.raises(ProtocolError, match=f"'{protocol}' has no answers of the form SHARE"):
        party.answer(replace(QUERY, form=AnswerForm.SHARE))
    with pytest.raises(ProtocolError, match=f"'{protocol}' has no products"):
        party.introduce(Introduction("r", (Acceptance(b"", b""),), bytes(32)))
    with pytest.raises(ProtocolError, match="has no products"):
        party.open(OpeningRequest("r", (("a",),), 1))
    assert ledger.release("r").introduction is None
    assert ledger.spent("r") == 0


BOXES = (((0, 50), (0, 60)), ((50, 51), (7, 8)), ((60, 100), (30, 60)))


def test_a_histogram_of_boxes_has_their_sums_and_the_noise_of_single_cells(table, ledger):
    """A correct party fails the last check in fewer than 1 of 500,000 choices of the seed."""
    counts = table.marginal(("a", "b")).reshape(100, 60)
    exact = [counts[a:b, c:d].sum() for (a, b), (c, d) in BOXES]
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, granted_rho=1e8)))
    assert np.allclose(asked(party, replace(QUERY, sigma=1e-3, boxes=BOXES)), exact, atol=0.02)
    noise = [
        asked(party, replace(QUERY, query_id=f"q{number}", boxes=BOXES))[0] - exact for number in range(100)
    ]
    squares = stats.chi2(300)
    assert squares.ppf(1e-6) < np.sum((np.array(noise) / 3.0) ** 2) < squares.isf(1e-6)


def test_boxes_cost_what_one_histogram_costs(party, ledger):
    party.answer(replace(QUERY, boxes=BOXES))
    assert ledger.spent("r") == gaussian_cost(3.0, Adjacency.ZERO_OUT)


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        ((*BOXES, ((0, 1), (0, 1))), "box 3: it meets another box"),
        ((((0, 1), (5, 5)),), "non-empty range"),
        ((((0, 101), (0, 1)),), "non-empty range"),
        ((((0, 1),),), "for each attribute"),
        (((),), "for each attribute"),
    ],
)
@pytest.mark.parametrize("form", [AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE])
def test_boxes_that_do_not_fit_are_refused_before_anything_is_charged(party, ledger, boxes, reason, form):
    with pytest.raises(DataError, match=reason):
        party.answer(replace(QUERY, form=form, boxes=boxes))
    assert ledger.spent("r") == 0


def test_boxes_of_a_clique_that_is_too_large_are_refused(party, ledger):
    boxes = (((0, 100), (0, 60), (0, 3)),)
    with pytest.raises(PolicyError, match="max_cells"):
        party.answer(replace(QUERY, clique=("a", "b", "c"), boxes=boxes))
    assert ledger.spent("r") == 0


def test_indicator_vectors_have_no_boxes(party, ledger):
    with pytest.raises(ProtocolError, match="neither boxes nor interactions"):
        party.answer(replace(RECORD_WISE, boxes=(((0, 1), (0, 1)),)))
    assert ledger.spent("r") == 0


INTERACTION = replace(QUERY, interaction=True)


def test_an_interaction_is_answered_with_the_differences_of_noisy_cells_and_nothing_else(table, ledger):
    """A correct party fails the last check in fewer than 1 of 500,000 choices of the seed.

    Every second difference along both axes has four cells to itself, and so independent noise.
    """
    counts = table.marginal(("a", "b")).reshape(100, 60)
    exact = np.diff(np.diff(counts, axis=0), axis=1)
    party = started(table, ledger)
    party.accept(encode_terms(replace(TERMS, granted_rho=1e8)))
    assert np.allclose(
        asked(party, replace(INTERACTION, query_id="p", sigma=1e-3))[0], exact.ravel(), atol=0.06
    )
    noise = (asked(party, INTERACTION)[0].reshape(99, 59) - exact)[::2, ::2]
    squares = stats.chi2(noise.size)
    assert squares.ppf(1e-6) < np.sum((noise / 6.0) ** 2) < squares.isf(1e-6)


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("clique", [("a",), ("a", "b"), ("b", "c")])
def test_the_party_charges_an_interaction_for_how_far_a_record_moves_it(table, ledger, clique, adjacency):
    party, shape = started(table, ledger), DOMAIN.shape(clique)
    party.accept(encode_terms(replace(TERMS, adjacency=adjacency)))
    sigma = gaussian_sigma(Fraction(1), adjacency, shape)
    query = replace(INTERACTION, clique=clique, sigma=sigma)
    with pytest.raises(BudgetError, match="more than is left"):
        party.answer(replace(query, sigma=sigma * (1 - 1e-9)))
    assert ledger.spent("r") == 0
    first = list(party.answer(query))
    assert list(party.answer(query)) == first
    assert ledger.spent("r") == gaussian_cost(sigma, adjacency, shape)
    assert 1 - 1e-9 < ledger.spent("r") <= 1


@pytest.mark.parametrize(("one", "other"), [(QUERY, INTERACTION), (INTERACTION, QUERY)])
def test_an_interaction_and_its_marginal_have_noise_of_their_own(table, party, ledger, one, other):
    """The cells less the differences of one noise would be what is constant along an axis, uncharged."""
    cells = asked(party, replace(QUERY, query_id="p"))[0].reshape(100, 60)
    sent = asked(party, INTERACTION)[0].reshape(99, 59)
    assert np.mean(np.diff(np.diff(cells, axis=0), axis=1) == sent) < 0.5
    assert ledger.spent("r") == sum(
        gaussian_cost(3.0, Adjacency.ZERO_OUT, shape) for shape in [(), (100, 60)]
    )
    party.answer(replace(one, query_id="s"))
    with pytest.raises(ProtocolError, match="stands for another query"):
        party.answer(replace(other, query_id="s"))


def test_indicator_vectors_have_no_interactions(party, ledger):
    with pytest.raises(ProtocolError, match="neither boxes nor interactions"):
        party.answer(replace(RECORD_WISE, interaction=True))
    assert ledger.spent("r") == 0


@pytest.mark.parametrize("clique", [("one",), ("b", "one"), ("large",), ("b", "large")])
def test_an_interaction_that_the_charge_does_not_hold_for_is_refused_uncharged(ledger, clique):
    domain = Domain.coded({"b": 2, "one": 1, "large": 16_385})
    party = started(Table.from_codes(domain, np.zeros((9, 3), int)), ledger, replace(POLICY, max_cells=10**5))
    party.accept(encode_terms(TERMS))
    with pytest.raises(BudgetError, match="measure the whole marginal"):
        party.answer(replace(INTERACTION, clique=clique))
    assert ledger.spent("r") == 0
    party.answer(replace(QUERY, clique=clique))


@pytest.mark.parametrize(
    ("sigma", "bytes_of_cells", "bytes_of_differences"),
    [
        # 700 records on a grid of 2^21 stay below 2^31 however many cells' noise comes with them.
        (2e-4, 4, 4),
        (1e-4, 8, 8),
        # 15 sigmas fit, four times as many do not.
        (1.3e8, 4, 8),
        (2e8, 8, 8),
    ],
)
def test_the_words_of_an_interaction_hold_all_records_and_the_noise_of_four_cells(
    ledger, sigma, bytes_of_cells, bytes_of_differences
):
    domain = Domain.coded({"a": 20, "b": 30})
    records = np.tile([3, 4], (700, 1))
    party = started(Table.from_codes(domain, records), ledger)
    party.accept(encode_terms(replace(TERMS, granted_rho=1e9)))
    cells, sent = (replace(query, sigma=sigma) for query in (replace(QUERY, query_id="p"), INTERACTION))
    for query, words, width in [(cells, 600, bytes_of_cells), (sent, 551, bytes_of_differences)]:
        size = sum(map(len, party.answer(query)))
        assert words * width < size < words * width + 20
    if sigma < 1:
        corner = asked(party, sent)[0].reshape(19, 29)[2:4, 3:5]
        assert np.allclose(corner, [[700, -700], [-700, 700]], atol=60 * sigma)


def test_a_query_without_attributes_is_refused_before_it_reaches_the_party(party, ledger):
    with pytest.raises(ValueError, match="at least one attribute"):
        replace(QUERY, clique=())
    data = encode_query(replace(QUERY, clique=("?",))).replace(b"\x22\x01?", b"")
    with pytest.raises(ProtocolError, match="at least one attribute"):
        list(PartyServicer(party).serve("Answer", iter([data])))
    assert ledger.spent("r") == 0


@pytest.mark.parametrize(
    "method", ["Accept", "Introduce", "Open", "Multiply", "PrepareScores", "AnswerScores", "Answer"]
)
@pytest.mark.parametrize("count", [0, 2])
def test_a_method_that_takes_one_request_refuses_none_and_several(party, ledger, method, count):
    with pytest.raises(ProtocolError, match="expected one request, got none or several"):
        list(PartyServicer(party).serve(method, iter([encode_query(QUERY)] * count)))
    assert ledger.spent("r") == 0


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_a_protocol_that_no_party_knows_is_refused_whatever_the_policy_says(table, ledger, protocol):
    party = started(table, ledger, replace(POLICY, protocols=frozenset({protocol})))
    with pytest.raises(PolicyError, match="no party takes part"):
        party.accept(encode_terms(replace(TERMS, protocol=protocol)))
    assert ledger.reserved() == 0


def test_a_release_that_the_policy_refuses_reserves_nothing(table, ledger):
    party = started(table, ledger, replace(POLICY, min_records=701))
    with pytest.raises(PolicyError, match="min_records"):
        party.accept(encode_terms(TERMS))
    assert ledger.reserved() == 0
    with pytest.raises(ProtocolError, match="accept it first"):
        party.answer(QUERY)


def test_releases_have_grants_of_their_own_and_share_the_lifetime(table, ledger):
    party = started(table, ledger, replace(POLICY, lifetime_rho=Fraction(2)))
    cost = gaussian_cost(3.0, Adjacency.ZERO_OUT)
    for release in ("r", "s"):
        party.accept(encode_terms(replace(TERMS, release_id=release)))
    dear = replace(QUERY, sigma=gaussian_sigma(Fraction(1), Adjacency.ZERO_OUT))
    party.answer(dear)
    with pytest.raises(BudgetError):
        party.answer(replace(QUERY, query_id="q2"))
    party.answer(replace(QUERY, release_id="s"))
    assert ledger.spent("s") == cost
    with pytest.raises(PolicyError, match="lifetime_rho"):
        party.accept(encode_terms(replace(TERMS, release_id="t", granted_rho=2.0**-40)))
    assert ledger.reserved() == 2


def test_accepting_again_changes_nothing_even_where_the_lifetime_is_used_up(table, ledger):
    party = started(table, ledger, replace(POLICY, lifetime_rho=Fraction(1)))
    party.accept(encode_terms(TERMS))
    party.accept(encode_terms(TERMS))
    assert ledger.reserved() == 1
    with pytest.raises(ProtocolError, match="other terms"):
        party.accept(encode_terms(replace(TERMS, granted_rho=0.5)))


def test_a_party_whose_data_changed_under_an_accepted_release_refuses(table, party, ledger):
    party.answer(QUERY)
    changed = started(table.take(np.arange(699, -1, -1)), ledger)
    with pytest.raises(ProtocolError, match="other data"):
        changed.accept(encode_terms(TERMS))
    for query in (QUERY, replace(QUERY, query_id="q2")):
        with pytest.raises(ProtocolError, match="data changed"):
            changed.answer(query)
    assert ledger.spent("r") == gaussian_cost(3.0, Adjacency.ZERO_OUT)


def test_no_error_of_a_party_tells_of_its_data():
    domain = Domain.coded({"a": 90_000, "b": 8_000})
    table = Table.from_codes(domain, np.array([[77_377, 5_995]] * 613 + [[66_166, 4_884]] * 89))
    policy = replace(POLICY, max_cells=100_000)
    query = replace(QUERY, clique=("a",))
    texts = []

    def refused(action, argument):
        with pytest.raises(MosaicError) as refusal:
            action(argument)
        texts.append(str(refusal.value))

    party = started(table, Ledger(), policy)
    refused(party.answer, query)
    refused(started(table, Ledger(), replace(policy, min_records=703)).accept, encode_terms(TERMS))
    refused(
        started(table, Ledger(), replace(policy, max_release_rho=Fraction(0))).accept, encode_terms(TERMS)
    )
    refused(started(table, Ledger(), replace(policy, lifetime_rho=Fraction(0))).accept, encode_terms(TERMS))
    for change in ({"protocol": "theorem"}, {"protocol_version": 9}):
        refused(party.accept, encode_terms(replace(TERMS, **change)))
    party.accept(encode_terms(TERMS))
    refused(party.accept, encode_terms(replace(TERMS, granted_rho=0.5)))
    party.answer(query)
    for change in (
        {"clique": ("b",)},
        {"query_id": "2", "clique": ("a", "b")},
        {"query_id": "3", "clique": ("b", "a")},
        {"query_id": "4", "clique": ("b", "b")},
        {"query_id": "5", "clique": ("z",)},
        {"query_id": "6", "sigma": 0.01},
        {"query_id": "7", "sigma": 2.0**-30},
        {"query_id": "8", "release_id": "s"},
        {"query_id": "9", "form": AnswerForm.SHARE},
        {"query_id": "10", "boxes": (((0, 90_001),),)},
        {"query_id": "11", "form": AnswerForm.RECORD_WISE, "boxes": (((0, 1),),)},
    ):
        refused(party.answer, replace(query, **change))
    told = " ".join(texts).replace("_", "").replace(",", "")
    for private in ("77377", "5995", "66166", "4884", "613", "89", "702", "720000000"):
        assert private not in told
    assert len(texts) == 18
