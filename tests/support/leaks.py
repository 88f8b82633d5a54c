"""Faults that are planted into `synthesize`, by which a release tells of one row."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpmosaic.common.data.people import PeopleRows
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy import noise
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from dpmosaic.curator.analysis.release import Release
from dpmosaic.curator.people import rows as people_rows
from dpmosaic.party.sources.source import FileSource
from dpmosaic.synthesis import one_table
from dpmosaic.synthesis.learning import choice, first_step, learning, private_counts
from dpmosaic.synthesis.learning.asking import Asking
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.forms.forms import FORMS, PLACES, Form
from dpmosaic.synthesis.learning.kind import Texts
from dpmosaic.synthesis.learning.private_counts import PrivateCounts
from dpmosaic.synthesis.related import describing, tables
from support.odd_rows import ROWS


def raw_counts_decide_a_kind(monkeypatch):
    counted = learning.kind_voted
    exact = {}
    histograms = PrivateCounts.histograms

    def peeking(self, step, asked, *others):
        exact.update({name: count() for name, count in asked.items()} if step == "forms" else {})
        return histograms(self, step, asked, *others)

    def by_all_cells(vote, records):
        found = counted(vote, records)
        cells = exact.pop(next(iter(exact)))
        return replace(found, kind=Texts(())) if cells[PLACES[Form("word", "unknown")]] else found

    monkeypatch.setattr(PrivateCounts, "histograms", peeking)
    monkeypatch.setattr(learning, "kind_voted", by_all_cells)


def the_real_maximum_ends_a_range(monkeypatch):
    found = Asking.ranges

    def exactly(self, step, values, *arguments):
        ranges = found(self, step, values, *arguments)
        return {
            name: replace(one, high=max(one.high, np.nanmax(values[name]()))) for name, one in ranges.items()
        }

    monkeypatch.setattr(Asking, "ranges", exactly)


def exact_number_of_rows(monkeypatch):
    monkeypatch.setattr(first_step, "_count_rows", lambda counts, rho, rows, adjacency: choice.Rows(rows))


def a_refusal_on_the_exact_number_of_rows(monkeypatch):
    begun = one_table.begun_without

    def refusing(cells, *arguments, **options):
        if cells.records() > ROWS:
            raise DataError("too many rows")
        return begun(cells, *arguments, **options)

    monkeypatch.setattr(one_table, "begun_without", refusing)


def half_the_noise_in_one_histogram(monkeypatch):
    noised = PrivateCounts._add_noise
    monkeypatch.setattr(
        PrivateCounts,
        "_add_noise",
        lambda self, counts, sigma, *others: noised(
            self, counts, sigma / (2 if len(counts) == len(FORMS) else 1), *others
        ),
    )


def half_of_all_noise(monkeypatch):
    full = noise.discrete_gaussian
    monkeypatch.setattr(noise, "discrete_gaussian", lambda sigma, *others: full(sigma / 2, *others))


def one_charge_for_all_columns(monkeypatch):
    charged = PrivateCounts._charge
    monkeypatch.setattr(
        PrivateCounts,
        "_charge",
        lambda self, step, cliques, rho, **options: charged(self, step, cliques[:1], rho, **options),
    )


def a_row_that_counts_twice(monkeypatch):
    forms = Cells.forms
    monkeypatch.setattr(Cells, "forms", lambda self, name: 2 * forms(self, name))


def a_row_weighs_as_much_as_a_person(monkeypatch):
    whole = people_rows.weights
    monkeypatch.setattr(people_rows, "weights", lambda *given: np.full_like(whole(*given), WEIGHT_PARTS))
    monkeypatch.setattr(PeopleRows, "weigh", lambda self, rows, clique, groups: rows)


def the_most_rows_of_a_person_end_their_bins(monkeypatch):
    voted = describing.Describing._number

    def peeking(self, name, child, *others):
        attribute, spent = voted(self, name, child, *others)
        most = int(self._numbers[child].max())
        return replace(attribute, minimum=0, maximum=most, bins=most + 1, edges=()), spent

    monkeypatch.setattr(describing.Describing, "_number", peeking)


def types_of_the_real_frame(monkeypatch):
    begun, table = one_table.begun_without, Release.table.func
    held = {}

    def peeking(cells, *arguments, **options):
        held["rows"] = cells.source.rows
        return begun(cells, *arguments, **options)

    def leaking(self):
        return table(self).astype("object" if held["rows"]["age"].eq("unknown").any() else "string")

    monkeypatch.setattr(one_table, "begun_without", peeking)
    monkeypatch.setattr(Release, "table", property(leaking))


def every_label_passes_the_threshold(monkeypatch):
    monkeypatch.setattr(private_counts, "threshold", lambda sigma, delta: -np.inf)


def the_file_decides_its_encoding(monkeypatch):
    columns = FileSource.encoded

    def encoded(self, domain):
        odd = b"\xff" in self.path.read_bytes()
        return columns(self, domain) if not odd else columns(self, domain).project(domain.names[:1])

    monkeypatch.setattr(FileSource, "encoded", encoded)


def a_text_decides_the_order_of_all_rows(monkeypatch):
    """As pandas reads a column of numbers: one text in it makes texts of all."""
    read = tables.in_counted_order

    def by_type_of_the_column(rows, counts):
        if pd.to_numeric(rows[counts], errors="coerce").isna().any():
            return rows.iloc[::-1].reset_index(drop=True)
        return read(rows, counts)

    monkeypatch.setattr(tables, "in_counted_order", by_type_of_the_column)
