"""How many people a list of match keys finds at two parties that share no identifier.

Synthetic people in households: names and postcodes are as frequent as in life (Zipf), a household shares its
address, some of its people are twins. Each of two parties holds 80 % of the people, and writes each field
wrongly, leaves it out, or knows it from before a move or a marriage, with the probabilities of `ERRORS`.

Printed for each list of match keys, with the code of parties and matcher: how many links are right
(precision) and how many of the people at both parties are linked (recall), beside the same by a national
identifier with the same errors. Then, how many links of others change when one row is removed, among fewer
people.

Run: python benchmarks/match_keys.py [PEOPLE]
"""

from __future__ import annotations

import string
import sys
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.protocols.alignment.match_keys import MatchKey
from dpmosaic.common.protocols.alignment.matching import match
from dpmosaic.common.protocols.alignment.tokens import identifier_tokens, level_tag
from dpmosaic.party.counting.identifiers import Identifiers

PEOPLE, HELD = 10_000, 0.8
REMOVED, FEWER_PEOPLE = 100, 1_000
FIELDS = ("given_name", "surname", "born", "postcode", "street_number", "national_id")
ERRORS = {
    "registries": {"typo": 0.01, "missing": 0.01, "moved": 0.03, "married": 0.005, "swapped": 0.002},
    "forms": {"typo": 0.05, "missing": 0.04, "moved": 0.10, "married": 0.01, "swapped": 0.01},
}
"""Probability of each error for a field (typo, missing) or a person (the others), at each party."""
RECOMMENDED: tuple[MatchKey, ...] = (
    ("given_name:text", "surname:text", "born:date"),
    ("given_name:soundex", "surname:soundex", "born:date"),
    ("given_name:text", "born:date", "postcode:text"),
    ("surname:text", "born:date", "postcode:text"),
    ("given_name:soundex", "surname:soundex", "born:year", "postcode:text"),
    ("given_name:soundex", "surname:soundex", "postcode:text", "street_number:text"),
    ("born:date", "postcode:text", "street_number:text"),
)
IDENTIFIER: MatchKey = ("national_id:digits",)
Rows = dict[str, list[str]]
Held = tuple[NDArray[np.intp], Rows]
"""The person of each row, and the rows."""


def main() -> None:
    """Prints recall and precision of growing lists of match keys, and what a removed row changes."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
    lists = [(f"first {size}", RECOMMENDED[:size]) for size in range(1, len(RECOMMENDED) + 1)]
    lists += [("identifier", (IDENTIFIER,)), ("identifier, then all", (IDENTIFIER, *RECOMMENDED))]
    for name, errors in ERRORS.items():
        print(f"\n{name}: {errors}, {count} people")
        parties = two_parties(count, errors)
        for title, keys in lists:
            print(f"  {title:22}", summary(keys, parties))
        parties = two_parties(FEWER_PEOPLE, errors)
        for title, keys in (lists[0], lists[-3]):
            print(f"  {title:22} links of others that change with a row: removals", moved(keys, parties))


def two_parties(count: int, errors: Mapping[str, float]) -> list[Held]:
    """What two parties hold of so many people."""
    rng = np.random.default_rng(7)
    truth = people(count, rng)
    return [held(truth, errors, rng) for _ in range(2)]


def people(count: int, rng: np.random.Generator) -> Rows:
    """True values of each person; a household shares surname and address, twins their birthday."""
    homes = np.repeat(np.arange(count), rng.choice(4, count, p=(0.4, 0.3, 0.2, 0.1)) + 1)[:count]
    given, family = words(800, 2, rng), words(8000, 3, rng)
    names, codes = common(given, count, rng), common([f"{n:04d}" for n in range(1000, 3000)], count, rng)
    surnames, streets = common(family, count, rng), rng.integers(1, 300, count)
    days = np.datetime64("1930-01-01") + rng.integers(0, 365 * 85, count)
    twin = (np.diff(homes, prepend=-1) == 0) & (rng.random(count) < 0.02)
    days[twin] = days[np.flatnonzero(twin) - 1]
    numbers = rng.choice(10**9, count, replace=False)
    return {
        "given_name": names,
        "surname": [surnames[home] for home in homes],
        "born": np.datetime_as_string(days).tolist(),
        "postcode": [codes[home] for home in homes],
        "street_number": [str(streets[home]) for home in homes],
        "national_id": [f"{number:09d}" for number in numbers],
    }


def words(count: int, syllables: int, rng: np.random.Generator) -> list[str]:
    """Different words that can be spoken, of up to so many syllables more than one."""
    starts, ends = list("bcdfghjklmnprstvwz"), ["a", "e", "i", "o", "u", "an", "er", "ell"]
    found: dict[str, None] = {}
    while len(found) < count:
        size = int(rng.integers(2, syllables + 2))
        parts = zip(rng.choice(starts, size), rng.choice(ends, size), strict=True)
        found["".join(map("".join, parts))] = None
    return list(found)


def common(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Words drawn with Zipf's frequencies."""
    shares = 1 / (np.arange(len(words)) + 3)
    return [words[place] for place in rng.choice(len(words), count, p=shares / shares.sum())]


def held(truth: Rows, errors: Mapping[str, float], rng: np.random.Generator) -> Held:
    """The people whom a party holds, in an order of its own, and their rows as it wrote them."""
    count = len(truth["born"])
    who = rng.permutation(np.flatnonzero(rng.random(count) < HELD))
    rows = {name: [values[person] for person in who] for name, values in truth.items()}
    for row in range(len(who)):
        other = int(rng.integers(count))
        if rng.random() < errors["moved"]:
            rows["postcode"][row] = truth["postcode"][other]
            rows["street_number"][row] = truth["street_number"][other]
        if rng.random() < errors["married"]:
            rows["surname"][row] = truth["surname"][other]
        if rng.random() < errors["swapped"]:
            names = rows["given_name"], rows["surname"]
            names[0][row], names[1][row] = names[1][row], names[0][row]
        for name in FIELDS:
            if rng.random() < errors["typo"]:
                rows[name][row] = mistyped(rows[name][row], rng)
            if rng.random() < errors["missing"]:
                rows[name][row] = ""
    return who, rows


def mistyped(value: str, rng: np.random.Generator) -> str:
    """One character inserted, left out, replaced, or changed for the next one."""
    kind = string.digits if value[-1:].isdigit() else string.ascii_lowercase
    place, letter = int(rng.integers(len(value))), str(rng.choice(list(kind)))
    before, at, after = value[:place], value[place : place + 1], value[place + 1 :]
    return str(
        rng.choice(
            [
                before + letter + at + after,
                before + after,
                before + letter + after,
                before + after[:1] + at + after[1:],
            ]
        )
    )


def links(keys: Sequence[MatchKey], parties: Sequence[Held]) -> set[tuple[int, int]]:
    """Pairs of people, one of each party, whose rows get one position."""
    stream = RandomStream.from_seed(1)
    tokens, rows = [], []
    for place, (_, columns) in enumerate(parties):
        texts = Identifiers(columns).match_texts(keys, "first")
        own = [
            identifier_tokens(
                bytes(32), level_tag(0, level), level_texts, stream.child(str(place), str(level))
            )
            for level, level_texts in enumerate(texts)
        ]
        tokens.append(np.stack(own, axis=1))
        rows.append(texts.rows)
    first, second = match(tokens, 0.1, stream).positions
    _, left, right = np.intersect1d(first, second, return_indices=True)
    one, other = parties[0][0][rows[0][left]], parties[1][0][rows[1][right]]
    return set(zip(one.tolist(), other.tolist(), strict=True))


def summary(keys: Sequence[MatchKey], parties: Sequence[Held]) -> str:
    """Links, precision and recall of a list of match keys."""
    found = links(keys, parties)
    right = sum(one == other for one, other in found)
    shared = len(np.intersect1d(parties[0][0], parties[1][0]))
    return f"links {len(found):6d}  precision {right / len(found):.4f}  recall {right / shared:.4f}"


def moved(keys: Sequence[MatchKey], parties: Sequence[Held]) -> dict[int, int]:
    """For a number of removals, how many links of other people appeared or vanished: number -> removals."""
    (who, rows), second = parties
    before = links(keys, parties)
    changed: Counter[int] = Counter()
    for row in np.random.default_rng(1).choice(len(who), REMOVED, replace=False):
        fewer = {name: values[:row] + values[row + 1 :] for name, values in rows.items()}
        after = links(keys, [(np.delete(who, row), fewer), second])
        changed[len({link for link in before ^ after if link[0] != who[row]})] += 1
    return dict(sorted(changed.items()))


if __name__ == "__main__":
    main()
