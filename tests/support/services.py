"""Services of a compose file as processes without a container runtime.

Each has a root that it cannot write, an unprivileged user id, its own volumes at their places, and reaches
the others by their names: in user, mount and network namespaces, which users may make where the kernel lets
them.
"""

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import dpmosaic

PACKAGES = str(Path(dpmosaic.__file__).parents[1])
COMPILED = sorted({path.parent for path in Path(dpmosaic.__file__).parent.resolve().glob("curator/**/*.nbi")})
"""Where compiled functions are kept, which tests before may have compiled."""

_ALL = """
import fcntl, socket, struct, subprocess, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    up = struct.pack("16sh14x", b"lo", 0x49)
    fcntl.ioctl(any_socket, 0x8914, up)
print("ready", flush=True)
sys.stdin.read()
"""
"""Holds the network of all services: brings its loopback up, and ends with its standard input."""

_ONE = """
set -eu
root=$1 volumes=$2; shift 2
mount -t tmpfs root "$root"
for entry in /*; do
  if [ -L "$entry" ]; then cp -P "$entry" "$root/"
  elif [ -d "$entry" ]; then
    mkdir "$root$entry"; mount --rbind "$entry" "$root$entry"
    mount -o remount,bind,ro "$root$entry" 2> /dev/null || true
  fi
done
for volume in $volumes; do
  mkdir -p "$root${volume#*:}"; mount --bind "${volume%%:*}" "$root${volume#*:}"
done
mount --bind "$root/image/hosts" "$root/etc/hosts"
mkdir "$root/scratch"; mount -t tmpfs scratch "$root/scratch"
mount -o remount,ro "$root"
cd /
exec unshare --user --map-user=10001 --map-group=10001 --root="$root" "$@"
"""
"""One service: a root of links to this machine's, read-only, with the volumes in it; then another user."""


def possible():
    """Whether this machine lets its users make namespaces."""
    with contextlib.suppress(OSError):
        done = subprocess.run(
            ["unshare", "-rmn", "sh", "-c", "mount -t tmpfs x /mnt && unshare --user --map-user=10001 true"],
            stderr=subprocess.DEVNULL,
        )
        return done.returncode == 0
    return False


class Services:
    """The services of a compose file.

    Args:
        services: the section of the file.
        trial: folder of the file.
        folder: an empty folder for volumes and logs.
    """

    def __init__(self, services, trial, folder):
        self.services, self.trial, self.folder = services, trial, folder
        self.started = {}
        image = folder / "image"
        image.mkdir()
        names = "".join(f"127.0.1.{n} {name}\n" for n, name in enumerate(services, start=1))
        (image / "hosts").write_text(names)
        program = f'exec {shlex.quote(sys.executable)} -c "from dpmosaic.command import main; main()" "$@"'
        (image / "dpmosaic").write_text(f"#!/bin/sh\n{program}\n")
        (image / "dpmosaic").chmod(0o755)
        command = ["unshare", "-rmn", sys.executable, "-c", _ALL]
        pipe = subprocess.PIPE
        self.network = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self.network.stdout.readline() == "ready\n"

    def start(self, name, *command):
        """Starts a service, or another command in its place."""
        service = self.services[name]
        inside = command or (*service["entrypoint"], *service.get("command", ()))
        volumes = [f"{self.folder / 'image'}:/image", *(f"{path}:{path}" for path in COMPILED)]
        for volume in service["volumes"]:
            source, place, *_ = volume.split(":")
            held = self.trial if source == "./" else self.volume(source)
            volumes.append(f"{held}:{place}")
        root = self.folder / f"{name}.root"
        root.mkdir(exist_ok=True)
        into = ["nsenter", "--preserve-credentials", "-U", "-n", "-t", str(self.network.pid)]
        around = ["unshare", "-m", "sh", "-c", _ONE, "sh", str(root), " ".join(volumes)]
        environment = os.environ | {
            "PATH": f"/image:{os.environ['PATH']}",
            "PYTHONPATH": PACKAGES,
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": "/scratch",
            "OPENBLAS_NUM_THREADS": "1",
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen([*into, *around, *inside], stdout=log, stderr=log, env=environment)
        return process

    def volume(self, name):
        """The folder of a volume."""
        held = self.folder / "volumes" / name
        held.mkdir(parents=True, exist_ok=True)
        return held

    def run(self, name, *command, limit_s=1800):
        """Runs a service that ends, or another command in its place; returns its exit status."""
        return self.start(name, *command).wait(limit_s)

    def log(self, name):
        """What a service wrote."""
        return (self.folder / f"{name}.log").read_text()
