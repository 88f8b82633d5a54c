"""Releases by this software and a revision of it: `python tests/soak/versions.py REVISION VERSION`.

VERSION is the version of the protocol that both speak, such as 1 for version 0.1.0 of the software. Who is
older varies: the curator, a party, all but the curator; then all are upgraded while a release is under way.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.installations import install_revision
from support.mixed_versions import check_mixture, check_rolling_upgrade


def main(revision, version):
    with tempfile.TemporaryDirectory() as work:
        older = install_revision(Path(work) / "older", revision)
        mixtures = {
            "an older curator": (older, [None, None]),
            "an older party": (None, [None, older]),
            "older parties": (None, [older, older]),
        }
        for name, (curator, parties) in mixtures.items():
            with tempfile.TemporaryDirectory() as folder:
                check_mixture(Path(folder), curator, parties, int(version))
            print(f"{name}: released and verified", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            check_rolling_upgrade(Path(folder), older, None, int(version))
        print("upgraded while a release was under way: released and verified", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
