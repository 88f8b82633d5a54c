import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.report.page import evaluation_report, release_report
from support.certificates import bounded, measured

pytestmark = pytest.mark.slow

VOID = {"meta", "link", "br", "wbr"}


class Elements(HTMLParser):
    """The elements of a page, which must be closed in order, and its visible text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " " * (tag in ("td", "th", "p", "li", "title"))

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    @property
    def words(self):
        return " ".join(self.text.split())


def test_a_release_states_promise_trust_and_suitable_uses(certificate, synthetic):
    output = Elements(release_report(Certificate.from_json(certificate), synthetic)).words
    for part in (
        "A synthetic table of 300 records",
        "epsilon = 1",
        "2.72 times",
        "73.1 %",
        "delta = 1e-9",
        "No party showed its records",
        "the public 0.75 nothing",
        "Not spent 25.0 %",
        "3 of 6 pairs",
        "Not suitable for",
        "Slice 2: 800 records",
        "kind × age: at most 0.000 at 95% confidence",
        "numbers in 100 bins",
        "11 others",
    ):
        assert part in output
    for part in ("Not for publication", "% real", "Distance to the real table"):
        assert part not in output


@pytest.mark.parametrize("with_certificate", [True, False])
def test_an_evaluation_shows_scores_and_first_warns_against_publication(
    certificate, synthetic, comparison, with_certificate
):
    issued = Certificate.from_json(certificate) if with_certificate else None
    output = Elements(evaluation_report(synthetic, comparison, issued)).words
    assert output.index("Not for publication.") < output.index("Marginals & more")
    assert "compared with the 500 real ones" in output
    assert "0 is <best>." in output
    assert "distance 0.123" in output
    assert ("What was promised" in output) == with_certificate
    assert ("distance 0.050; at most 0.030 at 95% confidence" in output) == with_certificate


def test_a_label_precedes_the_promise_that_it_withdraws(certificate, synthetic):
    certificate["labels"] = ["NOT DIFFERENTIALLY PRIVATE as stated: because"]
    output = Elements(release_report(Certificate.from_json(certificate), synthetic)).words
    assert output.index("NOT DIFFERENTIALLY PRIVATE as stated: because") < output.index("What was promised")
    assert "With it, nothing is promised" in output


def test_names_the_parties_that_sign_the_certificate_of_a_release_over_daemons(certificate, synthetic):
    assert "sign terms" not in release_report(Certificate.from_json(certificate), synthetic)
    certificate["plan"]["names"] = [["clinic-1", "insurer-2"], ["clinic-3"]]
    found = Elements(release_report(Certificate.from_json(certificate), synthetic)).words
    assert "The parties clinic-1, insurer-2, clinic-3 sign terms and certificate" in found


def test_a_page_loads_nothing_and_runs_nothing(certificate, synthetic, comparison):
    for page in (
        release_report(Certificate.from_json(certificate), synthetic),
        evaluation_report(synthetic, comparison, Certificate.from_json(certificate)),
    ):
        found = Elements(page)
        assert not {"script", "img", "iframe", "object", "form"} & set(found.tags)
        assert not [name for name, _ in found.attributes if name.startswith("on") or name == "src"]
        assert [value for name, value in found.attributes if name == "href"] == ["data:,"]
        assert set(re.findall(r"url\((.*?)\)", page)) == {"#hatch"}
        assert "http:" not in page
        assert "https:" not in page
        assert "@import" not in page
        assert ("http-equiv", "Content-Security-Policy") in found.attributes


def test_escapes_names_and_values(certificate, synthetic):
    nasty = "\"'><script>alert(1)</script>{{ 7 * 7 }}"
    domain = Domain.coded({nasty: 2, "b": 2})
    certificate = {
        **certificate,
        "plan": {
            **certificate["plan"],
            "attributes": {nasty: 2, "b": 2},
            "parties": [[[nasty], ["b"]]],
            "record_counts": [3],
            "spec": {**certificate["plan"]["spec"], "protocol": nasty},
            "mechanism": {"name": nasty},
            "workload": [],
        },
        "model": {"cliques": [[nasty, "b"]], "size_mb": 0.1},
        "charges": [],
        "measurements": [measured(nasty, sigma=3.0)],
        "error_bounds": [bounded(nasty, "b", total_variation=0.1)],
        "labels": [nasty],
        "steps": {nasty: 0.01},
    }
    synthetic = Table.from_codes(domain, np.zeros((3, 2), dtype=int))
    found = Elements(release_report(Certificate.from_json(certificate), synthetic))
    assert "script" not in found.tags
    assert found.text.count(nasty) >= 6


def test_renders_a_page_of_one_attribute(certificate):
    domain = Domain.coded({"only": 3})
    certificate["plan"] |= {"attributes": {"only": 3}, "parties": [[["only"]]], "record_counts": [2]}
    certificate["plan"]["workload"] = []
    certificate |= {"model": {"cliques": [["only"]], "size_mb": 0.1}, "error_bounds": []}
    certificate |= {"charges": [], "measurements": []}
    synthetic = Table.from_codes(domain, np.array([[0], [2]]))
    output = Elements(release_report(Certificate.from_json(certificate), synthetic)).words
    assert "0 of 0 pairs" in output
    assert "Error bounds of pairs" not in output
