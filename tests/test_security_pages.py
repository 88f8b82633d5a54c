"""The tables of STRIDE and LINDDUN point at rows of the threat model, and these at tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STRIDE = (
    "spoofing", "tampering", "repudiation", "information disclosure", "denial of service",
    "elevation of privilege",
)  # fmt: skip
LINDDUN = (
    "linking", "identifying", "non-repudiation", "detecting", "data disclosure", "unawareness",
    "non-compliance",
)  # fmt: skip
UNDEFENDED = {"submit identifiers that it guesses"}
"""The threat model says that nothing, and so no test, stands in the way."""


def rows(page):
    """The cells of each row of the tables of a page, without headings."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] not in ("threat", "attack", "role")]


THREATS = rows("stride-and-linddun.md")
ATTACKS = {row[0]: row for row in rows("threat-model.md") if len(row) == 4}


def test_every_category_of_both_catalogues_has_a_row_in_its_order():
    named = list(dict.fromkeys(threat for threat, _, _ in THREATS))
    assert named == [*STRIDE, *LINDDUN]


@pytest.mark.parametrize("attack", [row[2] for row in THREATS])
def test_every_row_is_one_of_the_threat_model_with_a_test(attack):
    assert attack in ATTACKS
    if attack not in UNDEFENDED:
        assert ATTACKS[attack][3]


def test_every_file_or_folder_of_tests_that_the_threat_model_names_exists():
    """Functions, and files without a folder: `test_pages.py`."""
    text = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/.]+)`", text))
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
