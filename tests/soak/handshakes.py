"""Handshakes without a certificate against a party that replaces its certificates many times a second.

Run by hand, for about half an hour: `python tests/soak/handshakes.py 1000000`. Ends with status 1 if the
party died, wrote to its standard error, or left a handshake without an answer.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.storms import Stormed, storm

BATCH = 20_000


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("handshakes", type=int, help="number of handshakes, such as 1000000")
    wanted = arguments.parse_args().handshakes
    party, answered, begun = Stormed("party"), 0, time.monotonic()
    for start in range(0, wanted, BATCH):
        answered += storm(party.port, min(BATCH, wanted - start))
        if party.process.poll() is not None:
            break
        seconds, size = time.monotonic() - begun, party.resident_mb()
        print(f"{answered} handshakes, {seconds:.0f} s, {size:.0f} MB", flush=True)
    status, reloads, errors = party.stop()
    print(f"answered {answered} of {wanted}, {reloads} changes of certificates, exit status {status}")
    print(errors, end="")
    return int(status != 0 or answered != wanted or errors != "")


if __name__ == "__main__":
    sys.exit(main())
