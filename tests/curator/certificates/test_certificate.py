"""A certificate as a value: read from JSON with every type checked, and written without changes."""

import copy
import json

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.statements import Unstated
from support.certificates import certificate_form, measured


@pytest.fixture
def form():
    return certificate_form()


def changed(form, path, value):
    other = copy.deepcopy(form)
    place = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return other


def test_reading_and_writing_keeps_every_key_and_the_digest(form):
    certificate = Certificate.from_json(form)
    assert json.dumps(certificate.to_json()) == json.dumps(form)
    assert Certificate.from_json(certificate.to_json()) == certificate
    whole = changed(form, ("promise", "epsilon"), 1)
    assert json.dumps(Certificate.from_json(whole).to_json()) == json.dumps(whole)
    assert Certificate.from_json(whole).digest() != certificate.digest()


def test_the_digest_excludes_signatures(form):
    signed = {"terms": "00ff", "curator_signature": "", "parties": []}
    certificate = Certificate.from_json({**form, "signed": signed})
    assert certificate.signed.terms == b"\x00\xff"
    assert certificate.digest() == Certificate.from_json(form).digest()


def test_distinguishes_an_unstated_second_epsilon_from_null(form):
    key = "epsilon_by_privacy_loss_distribution"
    none = Certificate.from_json(changed(form, ("promise", key), None))
    assert none.promise.epsilon_by_privacy_loss_distribution is None
    assert none.to_json()["promise"][key] is None
    del form["promise"][key]
    unstated = Certificate.from_json(form)
    assert unstated.promise.epsilon_by_privacy_loss_distribution is Unstated.UNSTATED
    assert key not in unstated.to_json()["promise"]


def test_a_certificate_without_titles_uses_step_names(form):
    assert Certificate.from_json(form).titles == {
        "one-way": "Each attribute by itself",
        "a step of tomorrow": "a step of tomorrow",
    }
    del form["plan"]["steps"]
    assert Certificate.from_json(form).titles["one-way"] == "one-way"


def test_uses_the_smallest_noise_of_a_clique_measured_twice(form):
    form["measurements"] += [measured("age", sigma=3.0), measured("kind", sigma=90.0)]
    sigmas = Certificate.from_json(form).sigmas
    assert (sigmas["age",], sigmas["kind",]) == (3.0, 20.0)


def test_records_and_confidence_cover_all_slices_and_bounds(form):
    certificate = Certificate.from_json(form)
    assert (certificate.records, certificate.confidence) == (2000, 0.95)
    assert Certificate.from_json({**form, "error_bounds": []}).confidence == 0.0


@pytest.mark.parametrize("other", [None, [], {"format": "dpmosaic certificate 99"}, {"a": 1}])
def test_refuses_json_that_is_not_a_certificate(other):
    with pytest.raises(DataError, match="expected a certificate of the format"):
        Certificate.from_json(other)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("plan",), None, r"certificate\.plan: expected names and values, got NoneType"),
        (("promise",), {}, r"certificate\.promise lacks 'epsilon'"),
        (("promise", "epsilon"), "one", r"promise\.epsilon: expected a number, got another text"),
        (("promise", "zcdp_rho_granted"), 0.0, "expected a grant above 0"),
        (("promise", "spent_within_grant"), 1, "expected true or false, got int"),
        (("promise", "tomorrow"), 1, r"certificate\.promise has an unknown key"),
        (("error_bounds",), [3], r"error_bounds\[0\]: expected names and values, got int"),
        (("steps",), [], r"certificate\.steps: expected names and values, got list"),
        (("model", "cliques"), 1, r"model\.cliques: expected a list, got int"),
        (("model", "cliques"), [["nowhere"]], "expected marginals of the plan's attributes"),
        (("plan", "attributes", "kind"), 2.5, r"plan\.attributes\.kind: expected a whole number, got float"),
        (("plan", "attributes", "kind"), True, "expected a whole number, got bool"),
        (("plan", "mechanism"), {}, "expected the name of the mechanism"),
        (("plan", "record_counts"), [1], "parties of each slice"),
        (("plan", "spec", "budget", "delta"), None, "delta: expected a number in"),
        (("versions",), {}, "expected the version of dpmosaic"),
        (("labels",), "private", r"certificate\.labels: expected a list"),
        (("signed",), {"terms": "zz", "curator_signature": "", "parties": []}, "expected hexadecimal digits"),
    ],
)
def test_refuses_a_damaged_certificate_and_names_the_place(form, path, value, message):
    with pytest.raises(DataError, match=f"the certificate is damaged: .*{message}.*get a new copy"):
        Certificate.from_json(changed(form, path, value))


@pytest.mark.parametrize("cost", ["1/0", "0.5", "-1", "1" * 5000, 1])
def test_refuses_a_cost_that_is_not_a_fraction(form, cost):
    with pytest.raises(DataError, match=r"entries\[0\]\.zcdp_rho: expected a fraction"):
        Certificate.from_json(form | {"signed": signed_with(zcdp_rho=cost)})


def signed_with(**changes):
    """What a party signed, with one entry of its ledger."""
    entry = {"query_id": "1", "query": "00", "kind": "labels", "clique": ["a"], "groups": []}
    entry |= {"zcdp_rho": "1", "delta": "1/9"}
    party = {"name": "p", "entries": [{**entry, "signature": "", **changes}], "signature": ""}
    party["mark"] = {"events": 1, "head": "00" * 32}
    return {"terms": "", "curator_signature": "", "parties": [party]}


def test_an_entry_states_its_kind_and_a_delta_that_fits_it(form):
    read = Certificate.from_json(form | {"signed": signed_with()})
    assert Certificate.from_json(read.to_json()) == read
    for changes in ({"kind": "other"}, {"kind": "x"}, {"kind": "marginal"}, {"delta": "0"}, {"delta": "2"}):
        with pytest.raises(DataError, match=r"entries\[0\].*get a new copy"):
            Certificate.from_json(form | {"signed": signed_with(**changes)})


def test_refuses_a_file_without_json(tmp_path):
    (tmp_path / "certificate.json").write_text("{")
    with pytest.raises(DataError, match=r"certificate\.json"):
        Certificate.load(tmp_path / "certificate.json")
