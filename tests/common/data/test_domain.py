import hashlib
import json

import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

FORM = {
    "sex": ["female", "male"],
    "code": 3,
    "age": {"type": "numeric", "min": 0, "max": 90, "bins": 91},
    "income": {"type": "numeric", "min": 0, "max": 1.5, "bins": 10, "nullable": True, "integer": False},
}


@pytest.fixture
def domain():
    return Domain.from_json(FORM)


def test_a_domain_file_names_attributes_in_order(domain):
    assert domain.attributes == (
        CategoricalAttribute("sex", ("female", "male")),
        CodedAttribute("code", 3),
        NumericAttribute("age", 0, 90, 91, integer=True),
        NumericAttribute("income", 0, 1.5, 10, nullable=True, integer=False),
    )
    assert tuple(domain) == domain.names == ("sex", "code", "age", "income")
    assert domain.sizes == (2, 3, 91, 11)
    assert len(domain) == 4
    assert "age" in domain
    assert domain["code"].size == 3


def test_a_domain_is_the_same_after_json(domain, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(domain.to_json()), encoding="utf-8")
    assert Domain.load(path) == domain
    assert Domain.load(str(path)).digest() == domain.digest()


def test_equal_domains_have_equal_digests_and_others_differ(domain):
    other = {**FORM, "age": {"type": "numeric", "min": 0.0, "max": 90.0, "bins": 91, "nullable": False}}
    assert Domain.from_json(other).digest() == domain.digest()
    assert (
        Domain.from_json({"é": ["ü", 1]}).digest() == hashlib.sha256(rb'{"\u00e9":["\u00fc",1]}').hexdigest()
    )
    swapped = dict(reversed(FORM.items()))
    assert Domain.from_json(swapped).digest() != domain.digest()
    assert Domain.from_json({**FORM, "code": 4}).digest() != domain.digest()


def test_shapes_and_cells_follow_the_clique(domain):
    assert domain.shape(("code", "sex")) == (3, 2)
    assert domain.cells(("sex", "age")) == 182
    assert domain.cells(()) == 1
    assert Domain.coded({f"a{i}": 2**20 for i in range(9)}).cells(f"a{i}" for i in range(9)) == 2**180


def test_cliques_and_projections_are_put_into_domain_order(domain):
    assert domain.canonical(["income", "sex"]) == ("sex", "income")
    assert domain.project(["income", "sex"]).names == ("sex", "income")
    assert domain.project(["code"]) == Domain.coded({"code": 3})


def test_an_unknown_or_repeated_attribute_is_named(domain):
    with pytest.raises(DataError, match="unknown attribute 'height'; the domain has sex, code, age, income"):
        domain.canonical(["sex", "height"])
    with pytest.raises(DataError, match="named twice: sex"):
        domain.canonical(["sex", "age", "sex"])
    with pytest.raises(DataError, match="unknown attribute 'height'"):
        domain["height"]


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({}, "at least one attribute"),
        ([1, 2], "one JSON object"),
        ({"a": 0}, "expected from 1 to"),
        ({"a": []}, "expected from 1 to"),
        ({"a": True}, "a number of codes"),
        ({"a": "text"}, "a number of codes"),
        ({"a": {"type": "prose"}}, 'needs "type", one of'),
        ({"a": {"type": "text"}}, "free text cannot be released"),
        ({"a": {"min": 0, "max": 1, "bins": 2}}, 'needs "type", one of'),
        ({"a": {"type": "numeric", "min": 0}}, "expected the keys bins, max"),
        ({"a": {"type": "numeric", "min": 0, "max": 1, "bins": 2, "step": 1}}, "unknown keys step"),
    ],
)
def test_refuses_a_form_that_is_no_domain(form, reason):
    with pytest.raises(DataError, match=reason):
        Domain.from_json(form)


def test_refuses_an_attribute_declared_twice():
    with pytest.raises(DataError, match="attribute 'a' is declared twice"):
        Domain((CodedAttribute("a", 2), CodedAttribute("a", 3)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is not JSON in UTF-8"),
        (b'{"a": "\xff"}', "is not JSON in UTF-8"),
        (b'{"a": 2, "a": 3}', "named twice in one JSON object: a"),
        (
            b'{"a": {"type": "numeric", "min": 0, "max": Infinity, "bins": 2}}',
            "it has Infinity, which is no number of JSON",
        ),
    ],
)
def test_refuses_a_file_that_is_no_domain(tmp_path, content, reason):
    path = tmp_path / "domain.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=reason):
        Domain.load(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.json cannot be read"):
        Domain.load(tmp_path / "absent.json")


def test_a_file_with_attributes_alone_is_read_as_one_with_rules():
    short = Domain.from_json({"sex": ["f", "m"], "age": 9})
    assert Domain.from_json({"attributes": {"sex": ["f", "m"], "age": 9}}) == short
    assert Domain.from_json({"attributes": {"sex": ["f", "m"], "age": 9}, "suggested_rules": []}) == short


def test_a_column_may_be_called_attributes():
    domain = Domain.from_json({"attributes": {"type": "codes", "n": 2}})
    assert domain.names == ("attributes",)
    assert Domain.from_json({"attributes": ["a", "b"], "rules": 2}).names == ("attributes", "rules")


def test_a_misspelt_attribute_gets_the_nearest_name():
    domain = Domain.coded({"age": 2, "sex": 2})
    for named in (lambda: domain["agee"], lambda: domain.canonical(["sx"]), lambda: domain.shape(("agee",))):
        with pytest.raises(DataError, match=r"did you mean '(age|sex)'"):
            named()


def test_a_misspelt_type_gets_the_nearest_one():
    with pytest.raises(DataError, match=r"one of codes.*did you mean 'numeric'"):
        Domain.from_json({"age": {"type": "numerical", "min": 0, "max": 9, "bins": 10}})
    with pytest.raises(DataError, match="one of codes"):
        Domain.from_json({"age": {"type": ["numeric"]}})


def test_a_misspelt_attribute_in_a_rule_gets_the_nearest_name():
    rule = {"impossible": {"agee": [0], "sex": [1]}}
    with pytest.raises(DataError, match=r"no attribute 'agee' in the domain .did you mean 'age'"):
        Domain.from_json({"attributes": {"age": 2, "sex": 2}, "rules": [rule]})
