"""Linear algebra on one processor core."""

import numpy as np
from threadpoolctl import threadpool_info

from dpmosaic.curator.pgm.blas import one_thread


def threads():
    """Of NumPy's library."""
    found = (one for one in threadpool_info() if one["user_api"] == "blas" and "numpy" in one["filepath"])
    return [one["num_threads"] for one in found]


def test_products_use_one_thread_inside_and_as_many_as_before_after_it():
    before = threads()
    with one_thread():
        np.eye(2) @ np.eye(2)
        assert all(count == 1 for count in threads())
    assert threads() == before
