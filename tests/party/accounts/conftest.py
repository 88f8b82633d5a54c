import pytest

from dpmosaic.party.accounts.ledger import Ledger
from support.ledgers import DATA, SECRET, TERMS, anything


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    ledger = Ledger.create(path)
    ledger.reserve(TERMS, DATA, SECRET, anything)
    yield ledger
    ledger.close()
