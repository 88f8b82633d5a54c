"""Sends N malformed messages to parties: `python tests/soak/messages.py N [SEED]`.

See tests/security/test_malformed_messages.py. Prints how many messages of each method were refused, the
slowest one and the growth of memory. Status 1 after an error that is not a refusal, a message that takes a
second of processor time, or memory that grows by 64 MiB after the first tenth of the messages.
"""

import collections
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.fuzzing import PROTOCOLS, Fuzzer, resident_mib

MESSAGES_OF_ONE_PARTY = 200
LONGEST_S, GROWTH_MIB = 1.0, 64.0


def main(count, seed=0):
    fuzzers = [Fuzzer(protocol, seed) for protocol in PROTOCOLS]
    refusals, sent, slowest, before = collections.Counter(), collections.Counter(), (0.0, ""), None
    for number in range(count):
        fuzzer = fuzzers[number % len(fuzzers)]
        if number % MESSAGES_OF_ONE_PARTY < len(fuzzers):
            fuzzer.renew()
        began = time.process_time()
        method, refused = fuzzer.step()
        slowest = max(slowest, (time.process_time() - began, method))
        sent[method] += 1
        refusals[method] += refused
        if number == count // 10:
            before = resident_mib()
        if number % 100_000 == 99_999:
            print(f"{number + 1} messages, {resident_mib():.0f} MiB", flush=True)
    for method in sorted(sent):
        print(f"{method}: {sent[method]} messages, {refusals[method]} refused")
    grown, peak = resident_mib() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"slowest: {slowest[0]:.3f} s ({slowest[1]}); memory: grown by {grown:.1f} MiB, peak {peak:.0f} MiB"
    )
    return int(slowest[0] > LONGEST_S or grown > GROWTH_MIB)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
