"""The second opinion on epsilon: at once, or beside a release, in a thread or for a command in a process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial

from ...common.privacy.budget import Accountant
from ...common.processes.children import end_with_the_command, left_to_the_command
from ..measurers.measurer import Observer
from .privacy_loss import checked_epsilons, prepare_check
from .statements import StatedPlan

Opinions = Mapping[float, float | None]
"""Epsilon by the privacy loss distribution for each factor of noise; empty without a delta."""


def second_opinions(plan: StatedPlan, accountant: Accountant, observers: Sequence[Observer]) -> Opinions:
    """The second opinions on a release.

    Args:
        plan: what was asked for.
        accountant: what was charged, in full.
        observers: see `issue`.
    """
    return _computation(plan, accountant, observers)()


def opinions_beside(
    checks: Executor, plan: StatedPlan, accountant: Accountant, observers: Sequence[Observer]
) -> Callable[[], Opinions]:
    """Begins the second opinions; what it returns waits for them, and raises what they raised.

    If their process was killed they are computed in this one: the charges are made, and the release shall
    not be lost.

    Args:
        checks: where they are computed.
        plan: see `second_opinions`, as the others.
        accountant: what was charged, in full.
        observers: who sees less noise.
    """
    asked = _computation(plan, accountant, observers)
    try:
        begun = checks.submit(asked)
    except BrokenExecutor:
        return asked

    def await_opinions() -> Opinions:
        try:
            return begun.result()
        except BrokenExecutor:
            return asked()

    return await_opinions


@contextmanager
def process_for_checks() -> Iterator[Executor]:
    """A process that imports dp-accounting at once, and competes with no thread for the interpreter's lock.

    Run by: a command, whose own module a new process can import; not a library.
    """
    spawned = multiprocessing.get_context("spawn")
    process = ProcessPoolExecutor(1, spawned, initializer=end_with_the_command)
    try:
        with left_to_the_command():
            process.submit(prepare_check)
        yield process
    finally:
        # It ends while the command writes its files.
        process.shutdown(wait=False, cancel_futures=True)


def _computation(
    plan: StatedPlan, accountant: Accountant, observers: Sequence[Observer]
) -> Callable[[], Opinions]:
    """What is to be computed; it holds only what another process can import in little time."""
    delta = plan.noise_budget.delta
    if delta is None:
        return dict
    # A privacy loss distribution takes seconds: one for each factor.
    factors = frozenset({1.0, *(observer.noise_factor for observer in observers)})
    return partial(checked_epsilons, accountant, delta, plan.spec.unit, factors)
