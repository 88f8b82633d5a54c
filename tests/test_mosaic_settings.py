"""docs/mosaic-algorithm.md gives every setting of the mechanism with its value."""

import re
from dataclasses import asdict
from pathlib import Path

from dpmosaic.curator.mechanisms.mosaic.settings import Settings

PAGE = Path(__file__).parent.parent / "docs" / "mosaic-algorithm.md"
ROW = re.compile(r"^\| ([a-z_, ]+) \| (.+?) \| .+ \|$", re.MULTILINE)


def test_the_page_has_every_field_with_its_value():
    text = PAGE.read_text(encoding="utf-8").split("## 9. Every setting")[1]
    shown = {}
    for names, values in ROW.findall(text):
        if names != "field":
            fields = names.split(", ")
            each = [values] if len(fields) == 1 else values.split(", ")
            shown |= dict(zip(fields, each, strict=True))
    assert shown == {name: str(value) for name, value in asdict(Settings()).items()}
