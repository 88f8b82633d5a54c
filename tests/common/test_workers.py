"""Work on ranges, wherever it is done, against the same work on the calling thread."""

import multiprocessing
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.protocols.masked.masks import Masks
from dpmosaic.common.protocols.masked.ranges import dealt_range, left_range, right_range
from dpmosaic.common.protocols.masked.ring import Ring
from dpmosaic.common.workers import MANY_RECORDS, Pool, Workers

RING = Ring(32)
ROWS, AT_ONCE = 200, 30
MASKS = Masks({0: RandomStream.from_seed(1), 2: RandomStream.from_seed(2)})
LEFT, RIGHT = (MASKS.child(name) for name in ("left", "right"))


def work():
    """Pieces of each kind of work on ranges."""
    rng = np.random.default_rng(7)
    opened = RING.uniform(RandomStream.from_seed(3), ROWS, 5)
    codes = rng.integers(-1, 4, ROWS)
    starts = range(0, ROWS, AT_ONCE)
    blocks = [opened[start : start + AT_ONCE] for start in starts]
    return {
        dealt_range: [
            (RING, ((0, (0, 2)), (2, (0,))), [([LEFT], 3)], [(RIGHT, 5)], start, len(block))
            for start, block in zip(starts, blocks, strict=True)
        ],
        left_range: [
            (RING, [(LEFT, 3)], start, [block]) for start, block in zip(starts, blocks, strict=True)
        ],
        right_range: [
            ([block], [(codes[start : start + AT_ONCE], 4)])
            for start, block in zip(starts, blocks, strict=True)
        ],
    }


def check_the_same(workers):
    for function, pieces in work().items():
        expected = [function(*piece) for piece in pieces]
        found = list(workers.map(function, pieces, MANY_RECORDS))
        assert all(map(np.array_equal, found, expected)), function
        assert len(found) == len(expected) == 7


@pytest.fixture
def processes():
    workers = Workers.processes(2)
    yield workers
    workers.close()


def killed_once(path):
    """Ends the process that comes first."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return os.getpid()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def always_killed():
    os.kill(os.getpid(), signal.SIGKILL)


def refusing():
    raise DataError("expected another range, got this one; fix it")


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
