"""Work on ranges by a Dask cluster of two workers on this machine; skipped without the extra `cluster`."""

import os

import numpy as np
import pytest

from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.processes import workers as workers_module
from dpmosaic.common.processes.workers import MANY_RECORDS, Workers
from support.ranges import check_the_same, killed_once, refusing, summed

distributed = pytest.importorskip("distributed")

from dpmosaic.common.processes import cluster as cluster_module  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address():
    """The address of a scheduler with two processes."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def workers(address):
    made = Workers.cluster(address)
    yield made
    made.close()


def test_a_cluster_gives_the_same_words_as_the_calling_thread(workers):
    check_the_same(workers)
    assert os.getpid() not in set(workers.map(os.getpid, [()] * 4, MANY_RECORDS))
    assert list(workers.map(os.getpid, [()], MANY_RECORDS - 1)) == [os.getpid()]


@pytest.mark.parametrize("words", [1, 1 << 18])
def test_arguments_of_any_size_come_to_a_worker(workers, words):
    blocks = [np.full(words, number) for number in range(6)]
    found = list(workers.map(summed, [(block,) for block in blocks], MANY_RECORDS))
    assert [total for total, _ in found] == [words * number for number in range(6)]
    assert os.getpid() not in {process for _, process in found}


def test_a_worker_that_ends_before_large_arguments_come_is_replaced(workers, tmp_path):
    pieces = [(tmp_path / "killed", np.zeros(1 << 18))] * 6
    assert len(list(workers.map(killed_once, pieces, MANY_RECORDS))) == 6


def test_what_is_to_stay_here_is_not_sent(workers):
    assert list(workers.map(os.getpid, [()] * 2, MANY_RECORDS, here=True)) == [os.getpid()] * 2


def test_work_of_a_worker_that_was_killed_is_done_by_another(workers, tmp_path):
    found = list(workers.map(killed_once, [(tmp_path / "killed",)] * 6, MANY_RECORDS))
    assert len(found) == 6
    check_the_same(workers)


def test_an_error_of_the_work_is_not_repeated(workers):
    with pytest.raises(DataError, match="expected another range"):
        list(workers.map(refusing, [()], MANY_RECORDS))


def test_workers_of_another_version_are_refused(address, monkeypatch):
    monkeypatch.setattr(cluster_module, "__version__", "0.0.0")
    made = Workers.cluster(address)
    with pytest.raises(DataError, match=r"expected workers of the cluster with dpmosaic 0\.0\.0"):
        list(made.map(abs, [(1,)], MANY_RECORDS))


def test_a_scheduler_that_does_not_answer_is_not_available(monkeypatch):
    monkeypatch.setattr(cluster_module, "_CONNECT_S", "1s")
    made = Workers.cluster("tcp://127.0.0.1:1")
    with pytest.raises(PartyUnavailable, match="the scheduler of the cluster does not answer"):
        list(made.map(abs, [(1,)], MANY_RECORDS))


def test_a_scheduler_without_workers_is_not_available(monkeypatch):
    monkeypatch.setattr(cluster_module, "_CONNECT_S", "1s")
    with distributed.LocalCluster(
        n_workers=0, processes=True, dashboard_address=":0", host="127.0.0.1"
    ) as empty:
        made = Workers.cluster(empty.scheduler_address)
        with pytest.raises(PartyUnavailable, match="the cluster has no workers"):
            list(made.map(abs, [(1,)], MANY_RECORDS))


TLS = "tls://10.0.0.1:"


class FakeClient:
    """What a cluster says of its links."""

    def __init__(self, scheduler, workers):
        self.scheduler = type("Scheduler", (), {"address": scheduler})
        self.workers = workers

    def scheduler_info(self):
        return {"workers": self.workers}


@pytest.mark.parametrize(
    ("scheduler", "workers"),
    [
        (f"{TLS}1", {"tcp://10.0.0.1:2": {}}),
        (f"{TLS}1", {f"{TLS}2": {}, "tcp://127.0.0.1:3": {}}),
        (f"{TLS}1", {f"{TLS}2": {"nanny": "tcp://10.0.0.1:3"}}),
        (f"{TLS}1", {f"{TLS}2": {}, "ws://10.0.0.1:3": {}}),
        ("tcp://127.0.0.1:1", {"tcp://10.0.0.1:2": {}}),
        ("tcp://127.0.0.1:1", {"tcp://0.0.0.0:2": {}}),
    ],
)
def test_a_link_that_is_not_encrypted_and_leaves_the_machine_is_refused(scheduler, workers):
    with pytest.raises(DataError, match="expected"):
        cluster_module._check_links(FakeClient(scheduler, workers))


def test_links_that_are_encrypted_or_stay_on_the_machine_are_taken():
    cluster_module._check_links(FakeClient(f"{TLS}1", {f"{TLS}2": {"nanny": f"{TLS}3"}, f"{TLS}4": {}}))
    cluster_module._check_links(FakeClient("tcp://127.0.0.1:1", {"tcp://127.0.0.1:2": {"nanny": None}}))


def test_a_worker_without_tls_that_comes_later_is_sent_nothing(workers, monkeypatch):
    sent = workers.map(os.getpid, [()] * 9, MANY_RECORDS)
    next(sent)

    def came(client):
        raise DataError("expected workers that listen with TLS")

    monkeypatch.setattr(cluster_module, "_check_links", came)
    with pytest.raises(DataError, match="listen with TLS"):
        list(sent)


def test_without_the_extra_a_sentence_names_it(monkeypatch):
    def missing(extra):
        raise LookupError(extra)

    monkeypatch.setattr(workers_module, "require_extra", missing)
    with pytest.raises(LookupError, match="cluster"):
        Workers.cluster("tls://host:8786")
