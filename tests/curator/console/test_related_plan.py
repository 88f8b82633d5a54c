"""The page of a console whose plan releases related tables."""

from functools import partial

import pytest

from dpmosaic.common.console.serving import serve
from dpmosaic.common.processes.stopping import Stop
from dpmosaic.curator.console.pages import Place, curator_pages
from support.browsing import Client
from support.related import patients
from support.related_network import APART, network


@pytest.fixture
def place(tmp_path):
    made = network(tmp_path / "net", patients(people=20), APART)
    return Place(made.plan, tmp_path / "out", made.plan.parent)


@pytest.fixture
def client(place, operations):
    with serve(partial(curator_pages, place, operations), Stop()) as address:
        made = Client(address)
        made.enter()
        yield made


@pytest.mark.slow
def test_the_page_says_that_parts_are_shown_one_by_one_and_a_dry_run_lists_them(client, operations):
    """Nobody serves the parties of this plan, and a dry run asks none."""
    assert "releases related tables in parts" in client.get("/")[2]
    client.post("/run", {"operation": "dry run"})
    assert operations.wait(60)
    text = client.get("/")[2]
    assert "dry run, done" in text
    for part in ("alignment of people", "bins stays", "records patients", "records stays", "records codes"):
        assert f"<bdi>{part}</bdi>" in text


def test_a_finished_release_does_not_deny_its_rounds(client, place):
    place.out.mkdir()
    (place.out / "certificate.json").write_text('{"format": "dpmosaic certificate of people 1"}')
    text = client.get("/")[2]
    assert "The release is finished" in text
    assert "rounds of its own" in text
    assert "works without rounds" not in text
