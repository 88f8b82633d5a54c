"""Every field of a certificate, searched: whoever alters one before the parties sign it is noticed."""

import copy
import functools
import itertools
import json
from dataclasses import fields, replace

import numpy as np
import pytest

from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ProtocolError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.issuing import unreviewed_label
from dpmosaic.curator.certificates.statements import Promise, StatedCharge, StatedPlan
from dpmosaic.curator.certificates.verify import READ, UNVERIFIED, foreign, verify_certificate
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.releasing.release import ReleaseOrder
from support.certificates import signed_by
from support.parties import started
from support.terms import id_of, terms_with
from support.two_releases import LIMITS, failed, listed, released, signing
from support.verifiers import NODE, Refused, second

DOMAIN = Domain.coded({"a": 2, "b": 3})
UNREVIEWED = Domain.from_json({"a": {"type": "codes", "n": 2, "reviewed": False}, "b": 3})
KEYS = RandomStream.from_seed(2)
IDENTITIES = {
    name: Identity.from_seed(KEYS.child_key("identity", name))
    for name in (f"party-{number}-1" for number in range(1, 4))
}


def order_for(domain):
    workload = Workload.parse(domain, "1way")
    return ReleaseOrder(
        domain,
        ReleaseSpec(Budget(epsilon=1.0, delta=1e-9)),
        mechanism_named("independent"),
        workload,
    )


def parties(domain):
    codes = np.column_stack([np.arange(300) % size for size in domain.sizes])
    return started([[Table.from_codes(domain, codes)]] * 3, LIMITS, KEYS)


@functools.cache
def certified():
    """A signed certificate, and the identities of its parties."""
    links = parties(DOMAIN)
    return released(order_for(DOMAIN), links, id_of("r"))[1], listed(links, DOMAIN)


@functools.cache
def form():
    """What is signed of the certificate."""
    return {key: part for key, part in certified()[0].to_json().items() if key != "signed"}


@functools.cache
def cases():
    """The places of all values that are verified, each with the numbers of its alterations."""
    return [
        (path, number)
        for path in places(form())
        if not is_unverified(path) and path[0] != "outputs"
        for number, _ in enumerate(altered(at(form(), path)))
    ]


def altered(value):
    """Other values of the same type, and lists and objects that lack a part or have one twice."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, value / 2)
        case str():
            yield from (f"{value} ", "b" if value == "a" else "a")
        case list() if value:
            yield from (value[1:], [*value, value[0]], value[::-1])
        case dict() if value:
            yield dict(list(value.items())[1:])
        case None:
            yield from (0.5, "x", [])


def places(form, path=()):
    """The places of all values in a certificate, and of all lists and objects of values."""
    if path:
        yield path
    parts = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def at(form, path):
    return functools.reduce(lambda part, key: part[key], path, form)


def with_value(form, path, value):
    other = copy.deepcopy(form)
    at(other, path[:-1])[path[-1]] = value
    return other


def is_noticed(changed):
    """Whether reading or verifying it fails, although all parties signed its digest."""
    try:
        certificate = Certificate.from_json(changed)
    except DataError:
        if NODE is not None:
            with pytest.raises(Refused):
                second("digest", certificate=json.dumps(changed))
        return True
    signed, identities = certified()
    if certificate.digest() == signed.digest():
        return True
    return bool(failed(signed_by(IDENTITIES, certificate.with_signatures(signed.signed)), identities))


def is_unverified(path):
    named = ".".join(map(str, path))
    return any(named == place or named.startswith(f"{place}.") for place in UNVERIFIED)


@pytest.mark.slow
def test_an_unaltered_certificate_verifies():
    signed, identities = certified()
    assert failed(signed_by(IDENTITIES, signed), identities) == set()


@pytest.mark.slow
def test_every_field_that_is_altered_before_the_parties_sign_it_is_noticed():
    """What is left out is said by `verify` to be the curator's own statement."""
    assert len(cases()) > 150
    unnoticed = [
        path
        for path, number in cases()
        if not is_noticed(with_value(form(), path, list(altered(at(form(), path)))[number]))
    ]
    assert unnoticed == []


@pytest.mark.slow
def test_verify_names_what_it_cannot_verify_and_nothing_that_does_not_exist():
    signed, identities = certified()
    (said,) = [one for one in verify_certificate(signed, identities) if one.what == "not verified"]
    assert all(words in said.finding for words in UNVERIFIED.values())
    for place in UNVERIFIED:
        at(signed.to_json(), place.split("."))


ALIGNMENT = {
    "alignment_id": "f" * 32, "population": "everywhere", "people": [[1], [1], [1]], "sigma": 1.0,
    "zcdp_rho": "1/9", "match_keys": 1,
}  # fmt: skip
ADDED = {
    "plan": {
        "steps": None,  # the curator's own
        "names": [["x"], ["y"], ["z"]],
        "dealers": ["curator"],
        "evaluators": ["a", "b", "c"],
        "collusion": "nobody",
        "alignment": ALIGNMENT,
        "unreviewed": ["a"],
        "bins": {
            "release_id": "f" * 32, "certificate": "c" * 64, "zcdp_rho": 0.1, "attributes": ["a"],
            "labels_delta": 0.0,
        },
        "labels": {"attributes": ["a"], "delta": 1e-12},
        "records_sigma": 1.0,
        "unseen": [{"name": "a", "usual": 0, "moved": 1.0, "below": 0.0, "above": 0.0}],
        "prior": "0" * 64,
    },
    "promise": {
        "epsilon_really_spent": 0.1,
        "epsilon_by_privacy_loss_distribution": 0.1,
        "composition": {"a": 1},
        "observers": [],
        "zcdp_rho_with_alignment": 0.1,
        "epsilon_with_alignment": 0.1,
        "zcdp_rho_with_bins": 0.1,
        "epsilon_with_bins": 0.1,
    },
    "charge": {"steps": {"rate": 0.1, "multiplier": 1.0, "steps": 3}, "groups": [1]},
}  # fmt: skip
PARTS = {"plan": StatedPlan, "promise": Promise, "charge": StatedCharge}


@pytest.mark.slow
@pytest.mark.parametrize("part", ADDED)
def test_every_optional_field_that_is_added_before_the_parties_sign_it_is_noticed(part):
    optional = {one.name for one in fields(PARTS[part]) if "optional" in one.metadata}
    assert set(ADDED[part]) == optional
    place = ("charges", 0) if part == "charge" else (part,)
    for name, value in ADDED[part].items():
        if value is not None:
            assert is_noticed(with_value(form(), (*place, name), value)), name


@pytest.mark.slow
def test_the_mark_of_an_unreviewed_domain_is_in_the_terms_and_cannot_be_left_out_of_a_certificate():
    def stripped(made, terms):
        assert terms.purpose.unreviewed == ("a",)
        plan = replace(made.plan, unreviewed=())
        return replace(made, plan=plan, labels=(), differentially_private=True)

    links = parties(UNREVIEWED)
    _, certificate = released(order_for(UNREVIEWED), links, id_of("r"), change=stripped)
    assert failed(certificate, listed(links, UNREVIEWED)) == {"label", "purpose"}
    _, honest = released(order_for(UNREVIEWED), links, id_of("s"))
    assert honest.labels == (unreviewed_label(["a"]),)
    assert failed(honest, listed(links, UNREVIEWED)) == {"label"}


def test_terms_that_hide_an_unreviewed_attribute_are_refused_by_the_party_that_holds_it():
    def hiding(terms):
        return terms_with(terms, unreviewed=())

    with pytest.raises(ProtocolError, match="nobody has reviewed, and the terms do not say so: a"):
        released(order_for(UNREVIEWED), parties(UNREVIEWED), id_of("r"), sealing=signing(hiding))


@pytest.mark.parametrize("name", sorted(READ))
def test_a_file_that_commands_read_and_no_certificate_names_fails(name, tmp_path):
    (tmp_path / "certificate.json").touch()
    (tmp_path / "synthetic.txt").write_text("certified")
    outputs = {"synthetic.txt": sha256_of(tmp_path / "synthetic.txt")}
    signed, identities = certified()
    certificate = signed_by(IDENTITIES, signed.with_outputs(outputs))
    assert failed(certificate, identities, tmp_path) == set()
    (tmp_path / "notes.txt").write_text("of whoever passes the folder on")
    assert foreign(certificate, tmp_path) == ["notes.txt"]
    assert failed(certificate, identities, tmp_path) == set()
    (tmp_path / name).write_text("foreign")
    assert failed(certificate, identities, tmp_path) == {"other files"}


def test_the_cases_alter_every_part_of_the_certificate():
    altered_parts = {path[0] for path, _ in cases()}
    unverified = {place for place in UNVERIFIED if "." not in place}
    # The labels are empty here; a label that is taken out is tested above.
    assert altered_parts == set(form()) - unverified - {"outputs", "labels"}
    assert len(set(itertools.chain.from_iterable(path for path, _ in cases()))) > 40
