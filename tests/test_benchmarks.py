"""Benchmarks are run by hand: here it is only checked that what they import is there."""

import ast
import importlib
from pathlib import Path

import pytest

from dpmosaic.common.data.domain import Domain

BENCHMARKS = sorted((Path(__file__).parent.parent / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name)
def test_names_that_a_benchmark_imports_exist(path):
    missing = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpmosaic"):
            module = importlib.import_module(node.module)
            missing += [f"{node.module}.{a.name}" for a in node.names if not hasattr(module, a.name)]
    assert missing == []


@pytest.mark.parametrize(
    "path", sorted(BENCHMARKS[0].parent.glob("domains/*.json")), ids=lambda path: path.stem
)
def test_domain_files_of_benchmarks_are_reviewed_domains(path):
    domain = Domain.load(path)
    assert not domain.unreviewed
    assert Domain.from_json(domain.to_json()) == domain
