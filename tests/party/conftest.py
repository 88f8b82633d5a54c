import numpy as np
import pytest

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.table import Table
from dpmosaic.party.accounts.ledger import Ledger
from support.lone_party import DOMAIN, TERMS, started
from support.masked import masked, release  # noqa: F401
from support.operators import operator  # noqa: F401


@pytest.fixture
def table():
    rng = np.random.default_rng(5)
    return Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, size, 700) for size in DOMAIN.sizes]))


@pytest.fixture
def ledger():
    ledger = Ledger()
    yield ledger
    ledger.close()


@pytest.fixture
def party(table, ledger):
    party = started(table, ledger)
    party.accept(encode_terms(TERMS))
    return party
