"""Views: what a query asks of a marginal, against sums over rows and cells one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError

DOMAIN = Domain.coded({"a": 3, "b": 1, "c": 4})
ROWS = np.array([[0, 0, 3], [0, 0, 3], [2, 0, 1], [1, 0, 0], [1, 0, 3]])
TABLE = Table.from_codes(DOMAIN, ROWS)
GROUPS = ((0, 1, 0), (), (1, 0, 0, 1))
BOXES = (((0, 2), (0, 1), (3, 4)), ((2, 3), (0, 1), (0, 4)))
VIEWS = [
    View(("a", "c")),
    View(DOMAIN.names, GROUPS),
    View(DOMAIN.names, boxes=BOXES),
    View(("a", "c"), interaction=True),
    View(DOMAIN.names, GROUPS, interaction=True),
]


def counted_one_by_one(view):
    """The counts of cells or boxes, row by row."""
    columns = [DOMAIN.position(name) for name in view.clique]
    if view.boxes:
        return [
            sum(all(a <= row[k] < b for k, (a, b) in zip(columns, box, strict=True)) for row in ROWS)
            for box in view.boxes
        ]
    groups = view.groups or ((),) * len(view.clique)
    found = [tuple(g[row[k]] if g else row[k] for k, g in zip(columns, groups, strict=True)) for row in ROWS]
    return [found.count(cell) for cell in itertools.product(*map(range, view.shape(DOMAIN)))]


@pytest.mark.parametrize("view", VIEWS)
def test_counts_are_those_of_the_rows(view):
    counts = view.counted(TABLE)
    assert counts.tolist() == counted_one_by_one(view)
    assert counts.shape == (view.size(DOMAIN),)


@pytest.mark.parametrize("view", VIEWS)
def test_counts_of_codes_say_the_same_as_rows(view):
    codes = TABLE.marginal(view.clique)
    assert view.of_codes(codes, DOMAIN).tolist() == counted_one_by_one(view)
    labels = np.bincount(view.labels(DOMAIN), codes, view.size(DOMAIN) + 1)[: view.size(DOMAIN)]
    assert labels.tolist() == counted_one_by_one(view)


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_sent_determines_the_values(view):
    counts = view.counted(TABLE).astype(float)
    sent = view.sent(counts, DOMAIN)
    assert sent.shape == (view.sent_count(DOMAIN),)
    values = view.of_cells(counts, DOMAIN) if view.interaction else counts
    np.testing.assert_allclose(view.received(sent, DOMAIN), values, atol=1e-12)


@pytest.mark.parametrize("view", VIEWS[3:])
def test_an_interaction_says_nothing_of_sums_along_an_axis(view):
    cells = np.arange(view.cells(DOMAIN), dtype=float)
    shape = view.shape(DOMAIN)
    values = view.of_cells(cells, DOMAIN).reshape(shape)
    for axis in range(len(shape)):
        np.testing.assert_allclose(values.sum(axis=axis), 0, atol=1e-12)
    assert view.interaction_shape(DOMAIN) == shape


@given(st.lists(st.sampled_from(["a", "b", "c", "z"]), max_size=4, unique=True))
def test_a_view_is_of_a_domain_if_it_names_its_attributes_in_order(names):
    expected = "z" not in names and names == [name for name in DOMAIN if name in names]
    assert View(tuple(names)).is_of(DOMAIN) == expected


def test_attributes_of_one_code_leave_the_same_cells():
    view = View(DOMAIN.names, GROUPS).varying(DOMAIN)
    assert view == View(("a", "c"), (GROUPS[0], GROUPS[2]))
    assert View(("b",)).varying(DOMAIN) == View(("b",))
    assert view.counted(TABLE).tolist() == View(DOMAIN.names, GROUPS).counted(TABLE).tolist()


@pytest.mark.parametrize("others", [{"groups": GROUPS}, {"interaction": True}])
def test_boxes_go_with_neither_groups_nor_an_interaction(others):
    with pytest.raises(ValueError, match="not of both"):
        View(DOMAIN.names, boxes=BOXES, **others)


@pytest.mark.parametrize(
    "view",
    [View(("a",), ((0, 1),)), View(("a",), ((0, 0, 0),)), View(("a",), boxes=(((0, 4),),))],
)
def test_groups_and_boxes_that_do_not_fit_are_refused(view):
    with pytest.raises(DataError):
        view.check(DOMAIN)
