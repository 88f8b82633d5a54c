"""A disk without room, as far as one process is concerned."""

import contextlib
import resource


@contextlib.contextmanager
def room(size):
    """No file of this process grows beyond a size, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
