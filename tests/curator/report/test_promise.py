import math

import pytest

from dpmosaic.common.privacy.conversion import zcdp_epsilon
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.report.advice import advice_of
from dpmosaic.curator.report.page import release_report
from dpmosaic.curator.report.promise import promise_of
from support.certificates import rows


def words_of(form):
    return promise_of(Certificate.from_json(form))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_probability_of_a_correct_guess_is_that_of_the_worst_mechanism(certificate, epsilon):
    """It reveals all with probability delta; otherwise it is randomised response."""
    certificate["promise"] |= {"epsilon": epsilon, "delta": 0.01}
    promise = words_of(certificate)
    response = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert promise.guess == pytest.approx(0.01 + 0.99 * response)
    assert promise.odds == pytest.approx(math.exp(epsilon))
    assert not promise.converted


def test_a_guess_is_random_without_a_budget_and_certain_with_a_huge_one(certificate):
    for epsilon, guess in ((1e-12, 0.5), (1e4, 1.0)):
        certificate["promise"] |= {"epsilon": epsilon, "delta": 1e-12}
        assert words_of(certificate).guess == pytest.approx(guess)


def test_converts_a_promise_in_zcdp_to_epsilon(certificate):
    certificate["promise"] |= {"epsilon": None, "delta": None}
    promise = words_of(certificate)
    assert promise.converted
    assert promise.epsilon == pytest.approx(zcdp_epsilon(0.02, promise.delta))


def test_spent_and_unspent_budget_add_up(certificate):
    spending = words_of(certificate).spending
    assert [spent.step for spent in spending] == [
        "Each attribute by itself",
        "a step of tomorrow",
        "Not spent",
    ]
    assert [spent.share for spent in spending] == pytest.approx([0.25, 0.5, 0.25])
    assert [spent.answers for spent in spending] == ["marginals", "", ""]
    del certificate["plan"]["steps"]
    assert words_of(certificate).spending[0].step == "one-way"
    certificate["promise"]["zcdp_rho_spent"] = 0.02
    assert len(words_of(certificate).spending) == 2


def test_a_step_says_what_its_noise_was_added_to(certificate):
    scored = {**certificate["charges"][0], "clique": [], "kind": "scores"}
    certificate["charges"].append(scored)
    assert words_of(certificate).spending[0].answers == "marginals, scores (distances of marginals)"


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        ("masked", "No party showed its records"),
        ("trusted", "One place saw the whole table"),
        ("indicator", "No other role was trusted"),
        ("theorem", "protects no record"),
        ("a protocol of tomorrow", "no protocol of this name"),
    ],
)
def test_each_protocol_explains_who_trusted_whom(certificate, protocol, text):
    certificate["plan"]["spec"]["protocol"] = protocol
    assert text in words_of(certificate).trust


def test_advice_counts_pairs_by_their_bounds(certificate):
    """Bounds are 0, 0.03, ..., 0.15: two within 0.05, four within 0.2; three pairs are modelled."""
    advice = advice_of(Certificate.from_json(certificate))
    assert any("2 of the 6 pairs" in text and "within 5%" in text for text in advice.good)
    assert any("for 4 pairs, within 20%" in text for text in advice.good)
    assert any(text.startswith("Pairs that are not in the model (3 of 6)") for text in advice.bad)
    assert not any("may have errors of more than" in text for text in advice.bad)


def test_advice_warns_of_loose_and_of_unknown_bounds(certificate):
    del certificate["error_bounds"][0]
    for bound in certificate["error_bounds"][:3]:
        bound["total_variation"] = 0.5
    bad = advice_of(Certificate.from_json(certificate)).bad
    assert any(text.startswith("3 of the 6 pairs may have errors") for text in bad)
    assert any(text.startswith("Pairs without an error bound (1 of 6)") for text in bad)


def test_advice_warns_of_groups_smaller_than_the_noise_of_joint_counts(certificate):
    issued = Certificate.from_json(certificate)
    assert any("at most 40 records in 95" in text for text in advice_of(issued).good)
    assert any("fewer than about 20 records" in text for text in advice_of(issued).bad)
    certificate["measurements"] = []
    empty = advice_of(Certificate.from_json(certificate))
    assert not any("noise" in text for text in (*empty.good, *empty.bad))


def test_advice_praises_no_distribution_whose_noise_is_large_against_the_table(certificate):
    """Noise of 497 records in a table of 569 is of no use; in a table of 40 times 497 it is small."""
    for measured in certificate["measurements"]:
        measured["sigma"] = 248.5
    for records, praised in (([569], False), ([40 * 497], True)):
        certificate["plan"] |= {"record_counts": records, "parties": certificate["plan"]["parties"][:1]}
        advice = advice_of(Certificate.from_json(certificate))
        assert any("The distribution of one attribute" in text for text in advice.good) == praised
        assert any("much in a table of" in text for text in advice.bad) != praised


def test_advice_warns_that_a_model_without_pairs_has_no_dependence(certificate):
    """A run of zero rounds."""
    assert not any("all attributes are independent" in text for text in bad_of(certificate))
    names = list(certificate["plan"]["attributes"])
    certificate["model"]["cliques"] = [[name] for name in names]
    certificate["measurements"] = certificate["measurements"][: len(names)]
    assert any("all attributes are independent" in text for text in bad_of(certificate))


def bad_of(form):
    return advice_of(Certificate.from_json(form)).bad


@pytest.mark.parametrize(("dealers", "labelled"), [(["curator"], True), (["d", "e", "f"], False)])
def test_says_who_would_have_to_collude_and_labels_a_release_that_the_curator_dealt(
    certificate, dealers, labelled
):
    certificate["plan"] |= {"dealers": dealers, "collusion": "Two of <them> together could read it."}
    promise = words_of(certificate)
    assert promise.collusion == "Two of <them> together could read it."
    assert ("for trials" in promise.label) == labelled
    page = release_report(Certificate.from_json(certificate), rows(20, 1))
    assert "Two of &lt;them&gt; together could read it." in page
    assert ("Dealt by the curator: for trials." in page) == labelled
