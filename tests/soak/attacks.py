"""Power and false alarms of `dpmosaic attack`: `python tests/soak/attacks.py N [WORD...]`.

For each planted leak of tests/support/attacked.py the share of N releases in which its attack raises an
alarm; of N honest releases at epsilon 1 the share with any alarm, at most .05, and the lower bound of mu over
the promised one. WORD selects kinds whose name contains it. Status 1 if a leak is found in less than nine of
ten releases, or a bound exceeds what is promised.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.attacked import HONEST, LEAKS, attacked

POWER = 0.9


def main(count, *words):
    failed = 0
    for leak in (*LEAKS, *HONEST):
        if words and not any(word in leak.__name__ for word in words):
            continue
        found = [attacked(leak, seed) for seed in range(count)]
        if leak in LEAKS:
            power = sum(LEAKS[leak] in one.alarms for one in found) / count
            failed += power < POWER
            print(f"{power:.2f} found  {leak.__name__}", flush=True)
            continue
        ratios = [one.membership.mu_bound / one.ceiling.mu for one in found]
        failed += max(ratios) > 1
        alarms = [name for one in found for name in one.alarms]
        print(
            f"{sum(bool(one.alarms) for one in found) / count:.2f} false alarms {alarms}, mu at least",
            end=" ",
        )
        print(f"{min(ratios):.3f} to {max(ratios):.3f} of the promised  {leak.__name__}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
