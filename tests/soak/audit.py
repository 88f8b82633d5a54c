"""Audits N random releases: `python tests/soak/audit.py N [FIRST_SEED]`; it prints seeds of alarms.

Each release is audited like those of tests/audit/test_realised_cost.py. At the end it prints the largest
ratio of a realised loss to what was stated, by mechanism and protocol. Status 1 after an alarm.
"""

import collections
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.audit_cases import case_of
from support.auditing import alarms, audited, worst_squared_shift


def main(count, first=0):
    patch, worst, failed = pytest.MonkeyPatch(), collections.Counter(), 0
    for seed in range(first, first + count):
        case = case_of(seed)
        run = audited(patch, case.mechanism, case.table, case.trial, case.workload)
        name = f"{case.mechanism.name} {case.trial.protocol} {case.trial.adjacency.value}"
        worst[name] = max(worst[name], worst_squared_shift(run) / (2 * float(min(run.stated))))
        if found := alarms(run):
            failed += 1
            print(f"seed {seed}: {', '.join(sorted(found))}: {case}", flush=True)
    for name, ratio in sorted(worst.items()):
        print(f"{ratio:.6f}  {name}")
    print(f"{count} releases, {failed} with an alarm")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
