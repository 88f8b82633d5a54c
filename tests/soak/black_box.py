"""Lower bounds on epsilon from N releases of pairs of tables: `python tests/soak/black_box.py N [WORD...]`.

Each odd cell of tests/support/odd_rows.py, with and without a domain, by the command and in Python; refusals,
other mechanisms and neighbours; and one pair at epsilon 10 with 10 N releases, where a bound above zero shows
what the audit can see. WORD selects pairs whose name contains it. It prints each bound beside epsilon; status
1 if one is not below.
"""

import json
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.betting import lower_bound
from support.odd_rows import ODD, plain_rows
from support.one_record import COLUMNS, by_file, by_frame, categorical, just_learnable, reviewed

EPSILON = 0.2


def odd_rows(columns):
    """Rows that are odd in as many columns as can be: names of the odd cells -> cells."""
    left, found = {odd: cells for odd, cells in ODD.items() if set(cells) <= set(columns)}, {}
    while left:
        row, names = {}, []
        for odd, cells in left.items():
            if not set(cells) & set(row):
                row |= cells
                names.append(odd)
        found[", ".join(names)] = row
        left = {odd: cells for odd, cells in left.items() if odd not in names}
    return found


def pairs(folder):
    """Name, what makes the pair, and how many times N releases it gets."""
    domain = folder / "domain.json"
    domain.write_text(json.dumps(reviewed(COLUMNS)))
    every, rows, given = plain_rows(), plain_rows()[COLUMNS], ("--domain", str(domain))
    file, frame = partial(by_file, folder, epsilon=EPSILON), partial(by_frame, epsilon=EPSILON)
    for odd, cells in odd_rows(every).items():
        yield f"file, no domain: {odd}", partial(file, "--anyway", rows=every, cells=cells), 1
        yield (
            f"frame, no domain: {odd}",
            partial(frame, anyway=True, rows=every, cells=cells, typed=categorical),
            1,
        )
    for odd, cells in odd_rows(rows).items():
        yield f"file, domain: {odd}", partial(file, *given, rows=rows, cells=cells), 1
        yield (
            f"frame, domain: {odd}",
            partial(frame, domain=reviewed(rows), rows=rows, cells=cells, typed=categorical),
            1,
        )
    for columns in (["age"], ["flag", "city"]):
        learned = just_learnable(EPSILON, columns)
        yield f"refused or not: {', '.join(columns)}", partial(file, rows=learned), 1
        yield f"learned: {', '.join(columns)}", partial(file, "--anyway", rows=learned), 1
    empty = rows.iloc[:0]
    yield "the only row, no domain", partial(file, "--anyway", rows=empty), 1
    yield "the only row, domain", partial(file, *given, rows=empty), 1
    for mechanism in ("mosaic", "mst", "privbayes"):
        yield f"{mechanism}, domain", partial(file, *given, mechanism=mechanism, rows=rows), 1
    yield (
        "replace-one, domain",
        partial(file, *given, "--adjacency", "replace-one", replaced={}, rows=rows),
        1,
    )
    few = plain_rows(20)[["flag"]]
    yield (
        "epsilon 10, one column of 20 rows",
        partial(by_frame, rows=few, domain=reviewed(few), epsilon=10),
        10,
    )


def main(count, *words):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, made, times in pairs(Path(folder)):
            if words and not any(word in name for word in words):
                continue
            pair = made()
            bound = lower_bound(*pair.seen(count * times))
            failed += bound >= pair.epsilon
            print(f"{bound:g} of {pair.epsilon:g}  {name}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
