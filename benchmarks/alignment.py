"""Alignment of the parties of one slice, against a join of their identifiers in the clear.

Each step runs in a process of its own (Linux), one at a time; seconds are those of a run in which the parties
work at the same time, without transport. Neighbouring parties share 70 % of their identifiers, which are made
while they are read: memory is that of the steps. The reference is an outer join by pandas in one process.

Run: python benchmarks/alignment.py [--identifiers 10000 1000000] [--parties 2 5] [--keying hmac ddh]
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import overload

import numpy as np

from dpmosaic.common.crypto.randomness import KEY_BYTES, RandomStream
from dpmosaic.common.protocols.alignment.ddh import group_tokens, hash_to_group, raise_to, secret_scalar
from dpmosaic.common.protocols.alignment.matching import match
from dpmosaic.common.protocols.alignment.plan import DDH, HMAC, KEYINGS
from dpmosaic.common.protocols.alignment.tokens import party_tokens

SIGMA = 10.0
SHARED = 0.7
DEFAULTS = {HMAC: (10_000, 1_000_000), DDH: (10_000,)}
COLUMNS = {"keying": 6, "S": 2, "ids": 9, "tokens s": 9, "passed s": 9, "match s": 8, "MB sent": 8}
COLUMNS |= {"MiB party": 10, "MiB match": 10, "join s": 7, "times the join": 15}
PUBLISHED = "SecretFlow publishes 17 s (RR22) and 67 s (ECDH) for two parties of 10^7 on 32 cores"


class Names(Sequence[bytes]):
    """Identifiers of a party, made while they are read."""

    def __init__(self, party: int, count: int) -> None:
        self._first, self._count = party * round((1 - SHARED) * count), count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes]: ...
    def __getitem__(self, row: int | slice) -> bytes | list[bytes]:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(self._count))]
        if row >= self._count:
            raise IndexError
        return b"%012d|1970-01-01|smith" % (self._first + row)


def make_tokens(folder: Path, key: bytes, party: int, parties: int, count: int, keying: str) -> float:
    """Run by a party: its tokens, or its points under its own scalar."""
    names, stream = [Names(party, count)], RandomStream.from_os()
    started = time.perf_counter()
    sent = party_tokens(key, 0, parties, party, SIGMA, names, stream, keying).tokens
    if keying == DDH:
        sent = raise_to(hash_to_group(sent), scalar_of(party))
    seconds = time.perf_counter() - started
    np.save(folder / f"{party}.npy", sent)
    return seconds


def pass_on(folder: Path, owner: int, party: int, last: bool) -> float:
    """Run by a party: multiplies the points of another one; the last party makes tokens of them."""
    points = np.load(folder / f"{owner}.npy")
    started = time.perf_counter()
    points = raise_to(points, scalar_of(party))
    sent = group_tokens(points) if last else points
    seconds = time.perf_counter() - started
    np.save(folder / f"{owner}.npy", sent)
    return seconds


def scalar_of(party: int) -> bytes:
    """A party's scalar, the same in all its processes."""
    return secret_scalar(bytes([party] * KEY_BYTES))


def find_positions(folder: Path, parties: int, keying: str) -> float:
    """Run by the matcher."""
    tokens = [np.load(folder / f"{party}.npy") for party in range(parties)]
    started = time.perf_counter()
    match(tokens, SIGMA, RandomStream.from_os(), keying)
    return time.perf_counter() - started


def join(parties: int, count: int) -> float:
    """The reference: an outer join of all identifiers, in the clear."""
    import pandas as pd

    names = [[name.decode() for name in Names(party, count)] for party in range(parties)]
    tables = [pd.DataFrame({"id": own, f"row {party}": np.arange(count)}) for party, own in enumerate(names)]
    started = time.perf_counter()
    joined = tables[0]
    for other in tables[1:]:
        joined = joined.merge(other, on="id", how="outer")
    return time.perf_counter() - started


def alone(step: Callable[..., float], *arguments: object) -> tuple[float, float]:
    """Seconds and peak memory (MiB) of a step in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(step, sending, arguments))
    process.start()
    sending.close()
    measured: tuple[float, float] = receiving.recv()
    process.join()
    return measured


def _measured(step: Callable[..., float], sending: Connection, arguments: tuple[object, ...]) -> None:
    seconds = step(*arguments)
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    sending.send((seconds, int(peak) / 1024))


def aligned(folder: Path, count: int, parties: int, keying: str) -> tuple[list[tuple[float, float]], int]:
    """Seconds and peak memory of the steps, one after the other, and bytes that one party sends."""
    key = secrets.token_bytes(KEY_BYTES)
    steps = [max(alone(make_tokens, folder, key, j, parties, count, keying) for j in range(parties))]
    sent = (folder / "0.npy").stat().st_size
    for hop in range(1, parties if keying == DDH else 1):
        last = hop == parties - 1
        steps.append(
            max(alone(pass_on, folder, j, (j + hop) % parties, last) for j in range(parties)),
        )
        sent += (folder / "0.npy").stat().st_size
    return [*steps, alone(find_positions, folder, parties, keying)], sent


def main() -> None:
    """Prints the cost of each alignment and its ratio to the join in the same run."""
    parser = argparse.ArgumentParser(description="Compare alignments with a join in the clear.")
    parser.add_argument("--identifiers", type=float, nargs="+", help="of each party")
    parser.add_argument("--parties", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--keying", nargs="+", choices=KEYINGS, default=list(KEYINGS))
    chosen = parser.parse_args()
    print(" ".join(f"{name:>{width}}" for name, width in COLUMNS.items()))
    for keying in chosen.keying:
        for count in map(int, chosen.identifiers or DEFAULTS[keying]):
            for parties in chosen.parties:
                with tempfile.TemporaryDirectory() as folder:
                    steps, sent = aligned(Path(folder), count, parties, keying)
                reference, _ = alone(join, parties, count)
                seconds = [step[0] for step in steps]
                peak = max(step[1] for step in steps[:-1])
                print(
                    f"{keying:>6} {parties:>2} {count:>9} {seconds[0]:>9.2f} {sum(seconds[1:-1]):>9.2f} "
                    f"{seconds[-1]:>8.2f} {sent / 1e6:>8.1f} {peak:>10.0f} {steps[-1][1]:>10.0f} "
                    f"{reference:>7.2f} {sum(seconds) / reference:>15.1f}",
                    flush=True,
                )
    print(PUBLISHED)


if __name__ == "__main__":
    main()
