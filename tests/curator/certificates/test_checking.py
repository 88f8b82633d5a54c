"""Where second opinions are computed."""

import os
import signal
import time
from fractions import Fraction

import pytest

from dpmosaic.common.privacy.budget import Accountant, Charge
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost
from dpmosaic.curator.certificates import checking
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.checking import opinions_beside, process_for_checks, second_opinions
from support.certificates import certificate_form

PLAN = Certificate.from_json(certificate_form()).plan
SIGMA = 5.0
CHARGED = Accountant(Fraction(1)).charge(
    Charge("measure", ("kind",), gaussian_cost(SIGMA, Adjacency.ZERO_OUT), ((SIGMA,), (SIGMA,)))
)


@pytest.mark.slow
def test_a_process_gives_the_same_opinions_as_this_one():
    with process_for_checks() as checks:
        assert opinions_beside(checks, PLAN, CHARGED, ())() == second_opinions(PLAN, CHARGED, ())


@pytest.mark.slow
def test_an_error_in_the_process_is_raised_where_the_opinions_are_awaited(monkeypatch):
    monkeypatch.setattr(checking, "checked_epsilons", int)
    with process_for_checks() as checks:
        awaited = opinions_beside(checks, PLAN, CHARGED, ())
        with pytest.raises(TypeError):
            awaited()


@pytest.mark.slow
def test_a_process_that_is_killed_before_or_while_it_computes_loses_no_release():
    expected = second_opinions(PLAN, CHARGED, ())
    with process_for_checks() as checks:
        child = checks.submit(os.getpid).result()
        checks.submit(time.sleep, 60)
        running = opinions_beside(checks, PLAN, CHARGED, ())
        os.kill(child, signal.SIGKILL)
        assert running() == expected
        assert opinions_beside(checks, PLAN, CHARGED, ())() == expected


@pytest.mark.slow
def test_an_interrupt_is_left_to_the_command():
    with process_for_checks() as checks:
        child = checks.submit(os.getpid).result()
        os.kill(child, signal.SIGINT)
        assert checks.submit(os.getpid).result() == child
