"""docs/decisions.md lists every decision once, under a topic and with a status."""

import re
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
ROW = re.compile(r"^\| \[\d+\]\((adr/[^)]+)\) \| .+ \| (.+) \|$", re.MULTILINE)
STATUS = re.compile(r"in force|(superseded|amended)( in part)? by \[|in \[")


def test_every_decision_is_listed_once_with_its_status():
    rows = ROW.findall((DOCS / "decisions.md").read_text(encoding="utf-8"))
    files = {str(path.relative_to(DOCS)) for path in (DOCS / "adr").rglob("*.md")}
    assert Counter(path for path, _ in rows) == Counter(files)
    assert all(STATUS.match(status) for _, status in rows)
