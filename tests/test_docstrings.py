"""The examples in docstrings of the functions that people use first, run as they are printed."""

import doctest
import inspect

import pandas as pd
import pytest

import dpmosaic

pytestmark = pytest.mark.slow

DOMAIN = {"sex": ["F", "M"], "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10}}

FUNCTIONS = ("synthesize", "simulate", "evaluate", "encode", "decode", "budget")
METHODS = ("generate", "query", "mean", "linear")


@pytest.fixture(scope="module")
def known():
    """The names that examples use, as the first of them defines them."""
    patients = pd.DataFrame({"sex": ["F", "M"] * 500, "age": [31, 47] * 500})
    release = dpmosaic.synthesize(patients, epsilon=1.0, domain=DOMAIN, ledger=False)
    return {"dpmosaic": dpmosaic, "pd": pd, "patients": patients, "domain": DOMAIN, "release": release}


def run(documented, known):
    text = inspect.getdoc(documented)
    test = doctest.DocTestParser().get_doctest(text, dict(known), documented.__qualname__, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
    printed = []
    found = runner.run(test, out=printed.append)
    assert found.attempted
    assert not found.failed, "".join(printed)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_function_is_true(name, known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(getattr(dpmosaic, name), known)


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_a_method_is_true(name, known):
    run(getattr(dpmosaic.Release, name), known)
