"""Packages of one module, installed as pip would leave them, for tests of entry points."""

import sys
from textwrap import dedent

import pytest


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package of one module, as pip would leave it."""

    def installed(package, version, code, **groups):
        folder = tmp_path / package
        folder.mkdir()
        (folder / f"{package}.py").write_text(dedent(code))
        info = folder / f"{package}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        (info / "top_level.txt").write_text(f"{package}\n")
        sections = (f"[dpmosaic.{group}]\n{line}\n" for group, line in groups.items())
        (info / "entry_points.txt").write_text("".join(sections))
        monkeypatch.syspath_prepend(folder)
        monkeypatch.delitem(sys.modules, package, raising=False)

    return installed
