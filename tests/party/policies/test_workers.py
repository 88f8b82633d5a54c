"""The section [workers] of a policy."""

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.party.policies.workers import workers_of

NAME = "policy.toml"


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"threads": 2, "scheduler": "tls://host:8786"}, "has threads and scheduler"),
        ({"scheduler": "tcp://10.0.0.1:8786"}, "expected addresses such as tls://host:8786"),
        ({"scheduler": "tcp://localhost.example.org:8786"}, "expected addresses such as tls://host:8786"),
        ({"scheduler": "ws://127.0.0.1:8786"}, "expected addresses such as tls://host:8786"),
        ({"scheduler": "host:8786"}, "expected addresses such as tls://host:8786"),
    ],
)
def test_workers_that_do_not_hold_together_or_would_be_read_on_the_way_are_refused(entries, reason):
    with pytest.raises(DataError, match=reason) as refused:
        workers_of(NAME, entries)
    assert "10.0.0.1" not in str(refused.value)


def test_one_thread_begins_no_other():
    assert list(workers_of(NAME, {"threads": 1}).map(abs, [(-3,)], 1 << 30)) == [3]
