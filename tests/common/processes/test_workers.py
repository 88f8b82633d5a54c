"""Work on ranges, wherever it is done, against the same work on the calling thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpmosaic.common.errors import DataError, PartyUnavailable
from dpmosaic.common.processes.pool import Pool
from dpmosaic.common.processes.workers import MANY_RECORDS, Workers
from support.ranges import check_the_same, refusing


@pytest.fixture
def threads():
    workers = Workers.threads(2)
    with threadpool_limits(None):
        yield workers
    workers.close()


def test_threads_give_the_same_words_as_the_calling_thread(threads):
    check_the_same(threads)


def test_few_records_begin_no_thread(threads):
    here = threading.get_ident()
    assert list(threads.map(threading.get_ident, [()] * 3, MANY_RECORDS - 1)) == [here] * 3
    assert here not in threads.map(threading.get_ident, [()] * 3, MANY_RECORDS)


def test_one_thread_is_the_calling_thread():
    here = threading.get_ident()
    assert list(Workers.threads(1).map(threading.get_ident, [()], MANY_RECORDS)) == [here]


def test_threads_multiply_on_one_processor_each(threads):
    list(threads.map(abs, [(1,)], MANY_RECORDS))
    assert {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"} == {1}


def test_an_error_of_the_work_is_not_repeated(threads):
    with pytest.raises(DataError, match="expected another range"):
        list(threads.map(refusing, [()], MANY_RECORDS))


class Begun:
    """Two threads as workers, and how often they were begun."""

    def __init__(self):
        self.begun = 0
        self.executor = ThreadPoolExecutor(2)

    def __call__(self):
        self.begun += 1
        return Pool(self.executor, 2, lambda: None)


def test_few_pieces_are_under_way_and_their_seconds_are_counted():
    begun, read, seconds = Begun(), [], []
    pieces = ((read.append(number) or number,) for number in range(20))
    results = Workers(begun).map(_busy, pieces, MANY_RECORDS, seconds.append)
    for number, result in enumerate(results):
        assert result == number
        assert len(read) <= number + 1 + 4
    assert begun.begun == 1
    assert len(seconds) == 20
    assert all(second > 0 for second in seconds)
    begun.executor.shutdown()


def _busy(number):
    sum(range(10_000))
    return number


def test_a_pool_that_cannot_be_begun_again_is_refused():
    class Ended(Exception):
        pass

    def failing():
        raise Ended

    begun = Begun()
    with pytest.raises(PartyUnavailable):
        list(Workers(begun, (Ended,)).map(failing, [()], MANY_RECORDS))
    assert begun.begun == 4
    begun.executor.shutdown()
