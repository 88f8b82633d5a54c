"""Python as on Windows, as far as another system can be: run first in a process of its own.

Modules and functions that only POSIX has are missing, folders cannot be opened as files, and open files can
neither be replaced nor deleted.
"""

import os
import shutil
import signal
import sys
import tempfile
import types
from pathlib import Path

MISSING_MODULES = ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog", "readline")

_MISSING = {
    os: (
        *("getuid", "geteuid", "getgid", "getegid", "fork", "killpg", "setsid", "fchmod", "chown", "sysconf"),
        *("sched_getaffinity", "statvfs", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY", "set_blocking", "nice"),
    ),
    signal: ("pthread_sigmask", "alarm", "setitimer", "SIGKILL", "SIGHUP"),
}

LOCKED = []
"""What was locked, by the number of its descriptor."""


def _locking(file, how, count):
    """The function of Windows's module of that name."""
    if (how, count) != (_MSVCRT.LK_NBLCK, 1):
        raise AssertionError("expected an attempt to lock one byte")
    # Windows locks bytes up to 2 GiB from the beginning.
    LOCKED.append((file, os.lseek(file, 0, os.SEEK_CUR)))


_MSVCRT = types.ModuleType("msvcrt")
_MSVCRT.LK_NBLCK, _MSVCRT.locking = 2, _locking


def become_other_system():
    """Takes away what Windows has not; packages of others are imported before, which know their system."""
    for name in MISSING_MODULES:
        sys.modules[name] = None
    sys.modules["msvcrt"] = _MSVCRT
    for module, names in _MISSING.items():
        for name in names:
            delattr(module, name)
    shutil._use_fd_functions = False
    tempfile.TemporaryFile = tempfile.NamedTemporaryFile
    opened = os.open
    os.open = lambda path, flags, mode=0o777, **more: opened(_no_folder(path), flags, mode, **more)
    for module, name in ((os, "replace"), (os, "rename"), (os, "unlink"), (os, "remove")):
        setattr(module, name, _refuse_open(getattr(module, name)))


def _no_folder(path):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return path


def _refuse_open(change):
    def changed(path, *others, **more):
        for one in (path, *others):
            if any(held == Path(one) or Path(one) in held.parents for held in _open_files()):
                raise PermissionError(13, "The process cannot access the file", str(one))
        return change(path, *others, **more)

    return changed


def _open_files():
    for one in Path("/proc/self/fd").iterdir():
        try:
            yield Path(os.readlink(one))
        except OSError:
            continue
