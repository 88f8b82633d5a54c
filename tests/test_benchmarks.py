"""Benchmarks are run by hand: here it is only checked that what they import is there."""

import ast
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from dpmosaic.common.data.domain import Domain

BENCHMARKS = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name)
def test_names_that_a_benchmark_imports_exist(path):
    missing = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpmosaic"):
            missing += [f"{node.module}.{a.name}" for a in node.names if not _exists(node.module, a.name)]
    assert missing == []


def _exists(module, name):
    """Whether a module has a name, or a package a module of this name."""
    return hasattr(importlib.import_module(module), name) or bool(find_spec(f"{module}.{name}"))


@pytest.mark.parametrize(
    "path", sorted(BENCHMARKS[0].parent.glob("domains/*.json")), ids=lambda path: path.stem
)
def test_domain_files_of_benchmarks_are_reviewed_domains(path):
    domain = Domain.load(path)
    assert not domain.unreviewed
    assert Domain.from_json(domain.to_json()) == domain
