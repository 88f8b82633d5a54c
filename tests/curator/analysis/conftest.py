"""An independent package of statistics, imported by the tests that use it: that takes two seconds."""

import pytest


@pytest.fixture(scope="session")
def sm():
    import statsmodels.api

    return statsmodels.api
