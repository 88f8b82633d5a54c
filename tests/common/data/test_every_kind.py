"""Random domains of all kinds, and random tables in them."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.boolean import BooleanAttribute
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.date_parts import DatePartsAttribute
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table, decode_table, encode_table
from support.kinds import domains, tables

pytestmark = pytest.mark.slow

every_kind = settings(
    deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


def missing_code(attribute):
    """The code of a missing value; -1 without one."""
    if isinstance(attribute, CategoricalAttribute):
        return attribute.categories.index("") if "" in attribute.categories else -1
    return attribute.size - 1 if getattr(attribute, "nullable", False) else -1


def missing(values):
    return pd.isna(values) | np.equal(values, "") if values.dtype == object else pd.isna(values)


@every_kind
@given(domains())
def test_a_domain_is_the_same_after_json(domain):
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


@every_kind
@given(tables())
def test_encoding_what_was_decoded_or_written_gives_the_table_back(drawn):
    domain, columns, rng = drawn
    table = Table.from_codes(domain, columns)
    values = decode_table(table, rng)
    written = {name: domain[name].spelled(column) for name, column in values.items()}
    listed = {name: column.tolist() for name, column in written.items()}
    for raw in (values, written, listed):
        assert encode_table(domain, raw).digest() == table.digest()


@every_kind
@given(tables())
def test_missing_values_and_only_these_are_missing_after_decoding(drawn):
    domain, columns, rng = drawn
    for name, values in decode_table(Table.from_codes(domain, columns), rng).items():
        expected = columns[name] == missing_code(domain[name])
        assert missing(values).tolist() == expected.tolist()
        assert missing(domain[name].spelled(values)).tolist() == expected.tolist()


@every_kind
@given(tables())
def test_decoded_values_have_the_type_of_their_kind(drawn):
    domain, columns, rng = drawn
    for name, values in decode_table(Table.from_codes(domain, columns), rng).items():
        known = {type(value) for value in values[~missing(values)].tolist()}
        match domain[name]:
            case DateAttribute() as attribute if attribute.texts:
                assert known <= {str}
            case DateAttribute(moments=moments) | DatePartsAttribute(moments=moments):
                assert values.dtype == ("datetime64[us]" if moments.timed else "datetime64[D]")
            case BooleanAttribute():
                assert known <= {bool}
            case NumericAttribute(integer=integer, texts=texts):
                assert known <= {str if texts else int if integer else float}
            case CategoricalAttribute(categories=categories):
                assert known <= set(map(type, categories))
            case _:
                assert values.dtype == np.int64


@every_kind
@given(tables(), st.integers(0, 2**32))
def test_values_come_back_up_to_their_bin_and_atoms_exactly(drawn, seed):
    domain, columns, rng = drawn
    values = decode_table(Table.from_codes(domain, columns), rng)
    table = encode_table(domain, values)
    again = decode_table(table, np.random.default_rng(seed))
    assert encode_table(domain, again).digest() == table.digest()
    for name in domain:
        attribute = domain[name]
        there, back = values[name], again[name]
        if isinstance(attribute, (NumericAttribute, DateAttribute)):
            units = attribute if isinstance(attribute, NumericAttribute) else attribute.units
            single = np.isin(units.cells[:, 0], units.atoms)
            exact = np.append(single, True)[np.minimum(columns[name], len(single))]
        else:
            exact = np.full(len(there), not isinstance(attribute, DatePartsAttribute))
        same = (there == back) | (missing(there) & missing(back))
        assert same[exact].all()
