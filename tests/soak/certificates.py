"""A release of N days, the mailbox with a new certificate each day: `python tests/soak/certificates.py N`.

Before each of N measurements of one masked release, the mailbox gets another certificate and key, in turn by
two authorities that parties were told of once. Nobody does anything at the parties or the curator. The
answers are those of the release in one process, and every party fetches as on the first day.
"""

import contextlib
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from dpmosaic.common.data.view import View
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.parties.over_https.listening import tls_of
from support.mailboxes import NAMES, TRIAL, Post, trial_table
from support.middleboxes import Authority

CLIQUES = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]


def days_of(links, table, count, morning):
    """The answer of each day; `morning` is called before it."""
    measurer, share, found = TRIAL.measurer(table, links), Fraction(1, 2 * count), []
    for day in range(count):
        morning(day)
        (one,) = measurer.measure([Query(View(CLIQUES[day % len(CLIQUES)]), share, f"day {day}")])
        found.append(list(one.values))
    return found


def main(count):
    table = trial_table()
    expected = days_of(TRIAL.parties(table), table, count, lambda day: None)
    with tempfile.TemporaryDirectory() as work, contextlib.ExitStack() as stack:
        authorities = [Authority(Path(work) / name, name) for name in ("first", "second")]
        both = Path(work) / "both.pem"
        both.write_bytes(b"".join(one.file.read_bytes() for one in authorities))
        served = authorities[0].issue()
        post = stack.enter_context(contextlib.closing(Post(Path(work), NAMES, tls=tls_of(*served))))
        for (link,), name in zip(TRIAL.parties(table), NAMES, strict=True):
            post.fetch(name, link.servicer, f"https://localhost:{post.port}/", authorities=both)
            post.describe(name)

        def renew(day):
            for path, new in zip(served, authorities[1 - day % 2].issue("next"), strict=True):
                new.replace(path)

        began = time.monotonic()
        found = days_of([[one] for one in post.connections(NAMES)], table, count, renew)
        failed = found != expected or any(post.codes(name) != ["SERVING"] for name in NAMES)
        print(
            f"{count} certificates, {time.monotonic() - began:.0f} s: {'FAILED' if failed else 'one release'}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
