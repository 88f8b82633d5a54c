"""A private PostgreSQL server on a Unix socket, for tests."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_OTHER_USERS = ("postgres", "nobody")


def _program(name):
    """A program of the server, which Debian keeps off the path."""
    found = [*Path("/usr/lib/postgresql").glob(f"*/bin/{name}")]
    return shutil.which(name) or (str(sorted(found)[-1]) if found else None)


@contextlib.contextmanager
def server():
    """Starts a server; gives its connection string. Skips where none is installed."""
    initdb, postgres = _program("initdb"), _program("pg_ctl")
    if initdb is None or postgres is None:
        pytest.skip("there is no PostgreSQL server here; apt-get install postgresql")
    # The server refuses to run as root.
    user = next(pwd.getpwnam(n) for n in _OTHER_USERS) if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    os.chown(folder, user.pw_uid, user.pw_gid)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": folder}
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
    data = folder / "data"
    subprocess.run(
        [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], **quiet, **as_user
    )
    options = f"-k {folder} -c listen_addresses= -c fsync=off"
    subprocess.run(
        [postgres, "-D", data, "-w", "-o", options, "-l", folder / "log", "start"], **quiet, **as_user
    )
    try:
        yield f"host={folder} user=postgres dbname=postgres"
    finally:
        subprocess.run([postgres, "-D", data, "-m", "immediate", "stop"], **quiet, **as_user)
        shutil.rmtree(folder, ignore_errors=True)
