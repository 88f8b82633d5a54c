"""Other installations of the software beside this one: a later version, or a revision of the past."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import dpmosaic

ROOT = Path(dpmosaic.__file__).parent
VERSIONS = "common/federation/protocol_versions.py"
ROOMS = ("common", "curator", "party", "simulations", "synthesis")


def install_next(folder):
    """Installs this software as if it spoke the next version of the protocol, and no more the oldest one."""
    package = folder / "dpmosaic"
    package.mkdir(parents=True)
    for file in ROOT.glob("*.py"):
        shutil.copy(file, package)
    for room in ROOMS:
        # With what was compiled here.
        shutil.copytree(ROOT / room, package / room)
    stated = (package / VERSIONS).read_text()
    shifted, found = re.subn(
        r"^OLDEST, NEWEST = (\d+), (\d+)$",
        lambda match: f"OLDEST, NEWEST = {int(match[1]) + 1}, {int(match[2]) + 1}",
        stated,
        flags=re.MULTILINE,
    )
    assert found == 1
    (package / VERSIONS).write_text(shifted)
    return folder


def install_revision(folder, revision):
    """Installs a revision of this checkout."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", revision, *ROOMS, "__init__.py", "command.py", "testing.py"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder / "dpmosaic", filter="data")
    return folder


@contextlib.contextmanager
def using(folder):
    """Processes that start meanwhile run the software that is installed in a folder; None for this one."""
    before = os.environ.get("PYTHONPATH")
    if folder is not None:
        os.environ["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = before
