import pytest

from dpmosaic.synthesis.omop.generate import generate


@pytest.fixture(scope="session")
def cdm(tmp_path_factory):
    """A CDM of 300 made-up people, to read."""
    return generate(tmp_path_factory.mktemp("omop") / "cdm.duckdb", 300, seed=5)
