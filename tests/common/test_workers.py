"""Work on ranges, wherever it is done, against the same work on the calling thread."""

import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.workers import MANY_RECORDS, Pool, Workers
from support.ranges import always_killed, check_the_same, killed_once, refusing


@pytest.fixture
def processes():
    workers = Workers.processes(2)
    yield workers
    workers.close()


def test_processes_give_the_same_words_as_the_calling_thread(processes):
    check_the_same(processes)


def test_few_records_begin_no_process(processes):
    assert list(processes.map(os.getpid, [()] * 3, MANY_RECORDS - 1)) == [os.getpid()] * 3
    assert os.getpid() not in processes.map(os.getpid, [()] * 3, MANY_RECORDS)


def test_one_process_is_the_calling_thread():
    assert list(Workers.processes(1).map(os.getpid, [()], MANY_RECORDS)) == [os.getpid()]


def test_work_of_a_process_that_was_killed_is_done_by_another(processes, tmp_path):
    path = tmp_path / "killed"
    found = list(processes.map(killed_once, [(path,)] * 6, MANY_RECORDS))
    assert len(found) == 6
    assert path.exists()
    check_the_same(processes)


def test_work_that_ends_every_process_is_refused(processes):
    with pytest.raises(PartyUnavailable, match="ended again and again"):
        list(processes.map(always_killed, [()], MANY_RECORDS))


def test_an_error_of_the_work_is_not_repeated(processes):
    with pytest.raises(DataError, match="expected another range"):
        list(processes.map(refusing, [()], MANY_RECORDS))


def test_a_process_ends_with_the_one_that_began_it():
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    parent = context.Process(target=_begins_and_waits, args=(there,))
    parent.start()
    worker = here.recv()
    parent.kill()
    parent.join()
    until = time.monotonic() + 60
    while _alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(worker)


def _begins_and_waits(pipe):
    workers = Workers.processes(2)
    pipe.send(next(workers.map(os.getpid, [()], MANY_RECORDS)))
    time.sleep(600)


def _alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


class Threads:
    """Two threads as workers, and what they did."""

    def __init__(self):
        self.begun = 0
        self.executor = ThreadPoolExecutor(2)

    def __call__(self):
        self.begun += 1
        return Pool(self.executor, 2, lambda: None)


def test_few_pieces_are_under_way_and_their_seconds_are_counted():
    threads, read, seconds = Threads(), [], []
    pieces = ((read.append(number) or number,) for number in range(20))
    results = Workers(threads).map(_busy, pieces, MANY_RECORDS, seconds.append)
    for number, result in enumerate(results):
        assert result == number
        assert len(read) <= number + 1 + 4
    assert threads.begun == 1
    assert len(seconds) == 20
    assert all(second > 0 for second in seconds)
    threads.executor.shutdown()


def _busy(number):
    sum(range(10_000))
    return number


def test_a_pool_that_cannot_be_begun_again_is_refused():
    class Ended(Exception):
        pass

    def failing():
        raise Ended

    threads = Threads()
    with pytest.raises(PartyUnavailable):
        list(Workers(threads, (Ended,)).map(failing, [()], MANY_RECORDS))
    assert threads.begun == 4
    threads.executor.shutdown()
