"""Benchmarks are scripts in one folder, which import each other by name."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent.parent / "benchmarks"))
