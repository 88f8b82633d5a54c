"""The second verifier: bytes, numbers and refusals, each compared with the package or with what is published.

That both verifiers agree on every false statement is asserted wherever `failed_checks` is called: in
`tests/curator/certificates` and in `tests/security/test_charges_and_units.py`.
"""

import json
import math
import random
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import dpmosaic
from dpmosaic.common.canonical.terms import decode_terms, encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import MosaicError, ProtocolError
from dpmosaic.common.privacy.conversion import gaussian_epsilon, zcdp_epsilon
from dpmosaic.common.privacy.cost import ALL_ROWS
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.protocols.related import KnownColumn, RelatedPart, Relation, Way
from dpmosaic.curator.certificates.certificate import Certificate
from support.certificates import certificate_form
from support.terms import terms_of
from support.verifiers import Refused, needs_node, second

pytestmark = needs_node

VECTORS = json.loads(
    (Path(__file__).parents[2] / "common" / "vectors" / "canonical.json").read_text(encoding="utf-8")
)
# What the second verifier does not know, and refuses: an alignment on its way.
TERMS = [vector for vector in VECTORS["terms"] if vector["value"]["aligning"] is None]
FRAME = pd.DataFrame({"sex": ["f", "m"] * 300, "smoker": ["no", "no", "yes"] * 200})
DOMAIN = {"sex": ["f", "m"], "smoker": ["no", "yes"]}


def is_read(data):
    """Whether the second verifier reads terms."""
    try:
        return second("terms", bytes=data.hex())
    except Refused:
        return False


def are_decoded(data):
    """Whether the package reads terms of a release that measures a table."""
    try:
        return decode_terms(data).aligning is None
    except ProtocolError:
        return False


@pytest.mark.parametrize("vector", TERMS, ids=[vector["name"] for vector in TERMS])
def test_reads_the_terms_of_the_vectors(vector):
    assert is_read(bytes.fromhex(vector["bytes"]))


def test_refuses_terms_that_align_rows():
    (aligning,) = [vector for vector in VECTORS["terms"] if vector["value"]["aligning"] is not None]
    assert not is_read(bytes.fromhex(aligning["bytes"]))


@pytest.mark.slow
def test_both_read_the_same_of_a_thousand_altered_terms():
    rng = random.Random(1)
    read = 0
    for _ in range(1000):
        data = bytearray.fromhex(rng.choice(TERMS)["bytes"])
        place = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                data[place] ^= 1 << rng.randrange(8)
            case 1:
                del data[place:]
            case 2:
                data.insert(place, rng.randrange(256))
            case 3:
                data[place] = rng.choice(b"\x00\x01\x02\x03\xff")
        read += is_read(bytes(data))
        assert is_read(bytes(data)) == are_decoded(bytes(data)), bytes(data).hex()
    # Another digit of a number or letter of a name is other terms, which are read.
    assert 50 < read < 950


def unchecked(kind, **values):
    """A value whose own checks are left out, as a curator's program may make one."""
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def column_of_a_part(rng):
    way = rng.choice([*Way])
    numbered = way in (Way.NUMBER, Way.COUNT, Way.TIME)
    of_stays = way in (Way.NUMBER, Way.FIRST, Way.SPAN)
    right = rng.random() < 0.9
    return {
        "name": rng.choice("abc"),
        "table": rng.choice(["people", "stays"])
        if rng.random() < 0.5
        else ("people" if of_stays else "stays"),
        "way": way,
        "source": rng.choice(["stays", "people", "ward"]) if not right else ("stays" if of_stays else "ward"),
        "before": rng.random() < 0.3 or (way is Way.SERIES and right),
        "groups": rng.choice([(), (), (0, 1), (0, 2), (1,)]),
        "starts": rng.choice([(0, 1), (0,), (0, 5, 9)])
        if numbered == right
        else rng.choice([(), (1, 2), (0, 0)]),
    }


@pytest.mark.slow
def test_both_read_the_same_of_parts_of_related_tables_of_every_way():
    """Ways, groups, starts and weights at random, right and wrong; many parts are read with each way."""
    rng, read = random.Random(1), Counter()
    for _ in range(3000):
        columns = tuple(unchecked(KnownColumn, **column_of_a_part(rng)) for _ in range(rng.choice([1, 1, 2])))
        evened = rng.choice([1, 1, 1, 5, 1 << 20, (1 << 20) + 1, 0])
        stays = unchecked(Relation, table="stays", parent="people", order="day", evened=evened)
        part = unchecked(
            RelatedPart,
            **{"whole": "a" * 32, "zcdp_rho": 2.0, "left_rho": rng.choice([1.0, 2.0, 3.0])},
            **{"table": rng.choice(["stays", "stays", "people"]), "codings": {}},
            relations=(Relation("people", "", ""), stays),
            columns=columns,
        )
        alone = Partition(Domain.coded({"a": 2}), (RosterEntry("p", 0, ("a",), 9, b"p" * 32),), related=part)
        data = encode_terms(terms_of(protocol="trusted", granted=0.5, plan=alone, rows_per_person=ALL_ROWS))
        decoded = are_decoded(data)
        assert is_read(data) == decoded, (part.table, evened, [vars(one) for one in columns])
        read.update({one.way for one in columns} if decoded else ["refused"])
    assert min(read[way] for way in Way) > 5
    assert read["refused"] > 1000


def test_refuses_one_identity_under_three_names_of_dealers():
    identities = [bytes([number]) * 32 for number in range(1, 4)]
    dealers = tuple(DealerEntry(f"dealer-{place}", one) for place, one in enumerate(identities))
    roster = tuple(RosterEntry(name, 0, (name[0],), 9, name.encode() * 32) for name in ("a", "b"))
    plan = MaskedPlan(Domain.coded({"a": 2, "b": 2}), roster, 1, Ring(32), (), dealers)
    data = encode_terms(terms_of(protocol="masked", plan=plan))
    assert is_read(data)
    for identity in identities[1:]:
        data = data.replace(identity, identities[0])
        assert not is_read(data)
        assert not are_decoded(data)
    two_parties = encode_terms(terms_of(protocol="masked", plan=plan)).replace(b"b" * 32, b"a" * 32)
    assert not is_read(two_parties)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-5])
def test_epsilon_of_gaussian_differential_privacy_is_that_of_its_formula(epsilon, delta):
    mu = 0.3 * epsilon
    found = second("epsilon", mu=mu, delta=delta)
    assert found == pytest.approx(gaussian_epsilon(mu, delta), rel=1e-9)
    formula = norm.cdf(mu / 2 - found / mu) - math.exp(found) * norm.cdf(-mu / 2 - found / mu)
    assert formula == pytest.approx(delta, rel=1e-6)


def test_epsilon_of_zcdp_is_that_of_the_package():
    for rho in (1e-6, 0.02, 3.0):
        found = second("zcdp", rho=rho, delta=1e-9)
        assert found == pytest.approx(zcdp_epsilon(rho, 1e-9), rel=1e-9)


def test_fractions_are_rounded_to_the_nearest_double():
    rng = random.Random(2)
    for _ in range(300):
        one = Fraction(rng.getrandbits(rng.randrange(1, 200)), rng.getrandbits(rng.randrange(1, 200)) or 1)
        assert float(second("rounded", fraction=str(one))) == float(one)
    for half in (2**53 + 1, 2**54 + 2, 2**54 + 6):
        assert float(second("rounded", fraction=f"{half}/3")) == half / 3
        assert float(second("rounded", fraction=str(half))) == float(half)


def test_json_is_written_as_for_the_digest_of_a_certificate():
    rng = random.Random(3)
    numbers = [rng.uniform(-1, 1) * 10.0 ** rng.randrange(-30, 30) for _ in range(300)]
    odd = [0.0, -0.0, 1e16, 1e15, 9.999e-5, 1e-4, 5e-324, 1.7976931348623157e308, 2**70, -3, 123456789.0]
    value = {
        "é\u2028\x7f\U0001f600": [*numbers, *odd],
        "\ue000": None,
        "\U00010000": [True, {}, ""],
        'A\n"\\': 1,
    }
    text = json.dumps(value)
    assert second("written", text=text) == json.dumps(value, sort_keys=True, separators=(",", ":"))


@pytest.mark.parametrize(
    "text",
    ["{", "[1,]", '{"a": 1, "a": 2}', "NaN", "1e999", '"\\ud800"', "[" * 40 + "]" * 40, "01", "1" * 400],
)
def test_refuses_json_that_the_package_refuses(text):
    with pytest.raises(Refused):
        second("written", text=text)


def test_the_digest_of_a_certificate_is_that_which_parties_sign():
    form = certificate_form()
    assert second("digest", certificate=json.dumps(form)) == Certificate.from_json(form).digest().hex()
    form["plan"]["dealers"], form["promise"]["zcdp_rho_spent"] = [], 1
    assert second("digest", certificate=json.dumps(form)) == Certificate.from_json(form).digest().hex()


@pytest.mark.parametrize("delta", [1e-320, 9.9e-19, 0, 1])
def test_refuses_a_delta_that_the_package_refuses(delta):
    form = certificate_form()
    form["plan"]["spec"]["budget"]["delta"] = delta
    with pytest.raises(MosaicError):
        Certificate.from_json(form)
    with pytest.raises(Refused, match="expected a delta"):
        second("digest", certificate=json.dumps(form))


def test_a_cost_of_many_digits_is_refused_and_not_computed():
    form = certificate_form()
    entry = {
        "query_id": "q", "query": "00" * 32, "kind": "marginal", "clique": [], "groups": [],
        "zcdp_rho": "1e99999999", "delta": "0", "signature": "00" * 64,
    }  # fmt: skip
    said = {"name": "p", "entries": [entry], "signature": "", "mark": {"events": 1, "head": "00" * 32}}
    form["signed"] = {"terms": "", "curator_signature": "", "parties": [said]}
    with pytest.raises(Refused, match="expected a fraction"):
        second("digest", certificate=json.dumps(form))


def copied(folder, tmp_path):
    """A copy of a folder that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def failed(folder):
    return {one["what"] for one in second("folder", folder=str(folder)) if one["passed"] is False}


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat") / "release"
    release = dpmosaic.synthesize(FRAME, epsilon=1.0, domain=DOMAIN, mechanism="independent")
    release.save(folder)
    return folder


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people") / "release"
    rows = pd.DataFrame({"id": np.arange(900) % 600, "ward": ["a", "b", "c"] * 300})
    people = pd.DataFrame({"id": range(600), "sex": ["f", "m"] * 300})
    domain = {"people": {"sex": ["f", "m"]}, "rows": {"ward": ["a", "b", "c"]}}
    release = dpmosaic.synthesize(
        {"people": people, "rows": rows}, epsilon=1.0, relations={"rows": {"id": "people"}}, domain=domain
    )
    release.save(folder)
    return folder


@pytest.mark.slow
def test_a_release_from_one_place_is_consistent_and_nobody_signed_it(flat):
    lines = {one["what"]: one for one in second("folder", folder=str(flat))}
    assert failed(flat) == set()
    assert lines["signatures"]["passed"] is None
    assert "nobody signed it" in lines["signatures"]["finding"]


FALSE_OF_ONE_PLACE = [
    (("plan", "spec", "budget", "epsilon"), 0.1, {"promise"}),
    (("promise", "epsilon"), 0.1, {"promise"}),
    (("promise", "zcdp_rho_spent"), 1e-9, {"costs"}),
    (("charges", 0, "zcdp_rho"), 1e-9, {"charges"}),
    (("charges", 0, "noise_sigmas_by_slice", 0, 0), 1.0, {"charges", "costs", "promise"}),
    (("labels",), ["NOT PRIVATE"], {"label"}),
    (("plan", "unreviewed"), ["sex"], {"label"}),
    (("outputs", "synthetic.csv"), "0" * 64, {"file synthetic.csv"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "value", "what"), FALSE_OF_ONE_PLACE)
def test_a_false_statement_of_a_release_from_one_place_is_detected(flat, tmp_path, path, value, what):
    copy = copied(flat, tmp_path)
    form = json.loads((copy / "certificate.json").read_text())
    place = form
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (copy / "certificate.json").write_text(json.dumps(form))
    assert failed(copy) >= what


@pytest.mark.slow
def test_a_table_that_no_certificate_names_is_detected(flat, tmp_path):
    copy = copied(flat, tmp_path)
    (copy / "notes.txt").write_text("of whoever passes the folder on")
    assert failed(copy) == set()
    (copy / "synthetic.parquet").write_bytes(b"another table")
    assert failed(copy) == {"other files"}


@pytest.mark.slow
def test_a_release_of_people_is_verified_with_its_parts(people, tmp_path):
    assert failed(people) == set()
    copy = copied(people, tmp_path)
    form = json.loads((copy / "certificate.json").read_text())
    for key, value, what in (
        ("epsilon_spent", 0.1, {"costs"}),
        ("zcdp_rho_spent", "1/1000", {"costs"}),
        ("labels", ["x"], {"label"}),
    ):
        (copy / "certificate.json").write_text(json.dumps(form | {key: value}))
        assert failed(copy) == what
    cheaper = {**form, "parts": [dict(part, zcdp_rho="1/100000") for part in form["parts"]]}
    (copy / "certificate.json").write_text(json.dumps(cheaper))
    assert failed(copy) >= {"parts", "costs"}
    (copy / "certificate.json").write_text(json.dumps(form))
    (copy / "tables" / "rows.csv").write_text("id,ward\n1,a\n")
    assert failed(copy) == {"file tables/rows.csv"}
