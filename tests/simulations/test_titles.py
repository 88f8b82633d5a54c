"""Every step that any mechanism charges has a title, and the report prints it."""

import numpy as np
import pytest
from markupsafe import escape

from dpmosaic import Budget, Domain, Table, simulate
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs, mechanism_named
from dpmosaic.curator.report.page import release_report

TINY = {"dp-gan": {"epochs": "1"}, "dp-select": {"pool": "2", "epochs": "1"}, "mwem": {"rounds": "2"}}


def cases():
    for name, entry in CATALOGUE.items():
        for variant in entry.variants:
            central = entry.needs is Needs.RECORDS
            protocol = "theorem" if variant in entry.on_paper and not central else "trusted"
            marks = [pytest.mark.gan] if central else []
            yield pytest.param(name, variant, protocol, id=f"{name} {variant}", marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "protocol"), list(cases()))
def test_every_charged_step_has_a_title_in_the_report(name, variant, protocol):
    rng = np.random.default_rng(0)
    domain = Domain.coded({"a": 3, "b": 2, "c": 4})
    first = rng.integers(0, 3, 300)
    table = Table.from_codes(domain, np.column_stack([first, first % 2, rng.integers(0, 4, 300)]))
    made = simulate(
        table,
        epsilon=Budget(2.0, 1e-6),
        protocol=protocol,
        mechanism=mechanism_named(name, variant, TINY.get(name, {})),
        seed=1,
    )
    titles = {step.name: step.title for step in made.certificate.plan.steps}
    report = release_report(made.certificate, made.rows)
    assert made.certificate.steps
    for step in made.certificate.steps:
        assert step in titles, step
        assert titles[step] != step
        assert str(escape(titles[step])) in report
