"""Real load balancers and proxies of Debian's packages, each as one process on this machine."""

import contextlib
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PACKAGES = {"nginx": "nginx-light libnginx-mod-stream", "haproxy": "haproxy", "squid": "squid-openssl"}
IDLE_S = 1
"""Seconds without a byte after which each of them cuts a connection."""


def need(program):
    """The path of a program; skips the test if it is not installed."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        # The rehearsal of a page runs without it.
        import pytest

        pytest.skip(f"{program} is not installed: apt-get install {PACKAGES[program]}")
    return found


class Authority:
    """An institution's own authority, and the certificates that it issues for this machine, as PEM files."""

    def __init__(self, folder, name="Authority of the hospital"):
        self.folder, self._key = folder, ec.generate_private_key(ec.SECP256R1())
        folder.mkdir(parents=True, exist_ok=True)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign(self._name, self._key, x509.BasicConstraints(True, None))
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        self.with_key = folder / "authority-with-key.pem"
        self.with_key.write_bytes(self.file.read_bytes() + _pem(self._key))

    def issue(self, stem="server"):
        """Certificate and key of a server on this machine; later ones replace earlier ones."""
        key = ec.generate_private_key(ec.SECP256R1())
        own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        certificate = self._sign(own, key, x509.BasicConstraints(False, None))
        files = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        for path, content in zip(
            files, (certificate.public_bytes(serialization.Encoding.PEM), _pem(key)), strict=True
        ):
            draft = path.with_suffix(".new")
            draft.write_bytes(content)
            draft.replace(path)
        return files

    def _sign(self, name, key, constraints):
        hosts = [x509.DNSName("localhost"), *(x509.IPAddress(ip_address(ip)) for ip in ("127.0.0.1", "::1"))]
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(constraints, critical=True)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@contextlib.contextmanager
def nginx(folder, port, *, http="", stream=""):
    """Runs nginx with these servers in its sections `http` and `stream`."""
    program = need("nginx")
    module = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
    if stream and not module.exists():
        import pytest

        pytest.skip(f"nginx lacks its module for streams: apt-get install {PACKAGES['nginx']}")
    folder.mkdir()
    paths = " ".join(f"{way}_temp_path {folder}/{way};" for way in ("proxy", "fastcgi", "uwsgi", "scgi"))
    text = f"""
{f"load_module {module};" if stream else ""}
daemon off; master_process off; pid {folder}/pid; error_log {folder}/log;
events {{ }}
{f"stream {{ {stream} }}" if stream else ""}
{f"http {{ access_log off; client_body_temp_path {folder}/body; {paths} {http} }}" if http else ""}
"""
    (folder / "conf").write_text(text)
    with _running([program, "-e", f"{folder}/log", "-p", str(folder), "-c", f"{folder}/conf"], folder, port):
        yield


@contextlib.contextmanager
def haproxy(folder, port, text):
    """Runs HAProxy with these sections."""
    program = need("haproxy")
    folder.mkdir()
    limits = f"timeout connect 5s\n timeout client {IDLE_S}s\n timeout server {IDLE_S}s"
    (folder / "conf").write_text(f"defaults\n {limits}\n{text}\n")
    with _running([program, "-db", "-q", "-f", f"{folder}/conf"], folder, port):
        yield


@contextlib.contextmanager
def squid(port, *, authority=None, outside=None, login=None):
    """Runs Squid as a proxy of an institution.

    Args:
        port: on which it listens.
        authority: with which it inspects what passes; None to pass it on.
        outside: authority that it trusts of servers outside.
        login: USER:PASSWORD that it asks for.
    """
    program = need("squid")
    with tempfile.TemporaryDirectory(prefix="squid-") as name:
        folder = Path(name)
        bump = asks = ""
        if authority is not None:
            maker = "/usr/lib/squid/security_file_certgen"
            subprocess.run(
                [maker, "-c", "-s", f"{folder}/made", "-M", "4MB"], check=True, capture_output=True
            )
            shutil.copy(authority.with_key, folder / "authority.pem")
            bump = f"""
sslcrtd_program {maker} -s {folder}/made -M 4MB
sslcrtd_children 1
tls_outgoing_options cafile={outside.file}
ssl_bump bump all
"""
        if login is not None:
            user, word = login.split(":")
            asker = folder / "login"
            asker.write_text(
                f'#!/bin/sh\nwhile read -r who; do [ "$who" = "{user} {word}" ] && echo OK || echo ERR; done'
            )
            asker.chmod(0o755)
            asks = f"auth_param basic program {asker}\nauth_param basic children 1\n"
            asks += "acl known proxy_auth REQUIRED\nhttp_access deny !known\n"
        inspects = f" ssl-bump cert={folder}/authority.pem" if authority is not None else ""
        (folder / "conf").write_text(f"""
http_port 127.0.0.1:{port}{inspects}
{bump}{asks}
http_access allow all
cache deny all
cache_mem 1 MB
access_log none
cache_log {folder}/log
pid_filename {folder}/pid
coredump_dir {folder}
netdb_filename none
read_timeout {IDLE_S} seconds
shutdown_lifetime 0 seconds
max_filedescriptors 256
visible_hostname proxy
""")
        if os.getuid() == 0:
            # It gives up the rights of root.
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, "proxy", "proxy")
        with _running([program, "-N", "-f", f"{folder}/conf"], folder, port):
            yield


@contextlib.contextmanager
def _running(command, folder, port):
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        until = time.monotonic() + 120
        while not _listens(port):
            told = "".join(path.read_text() for path in folder.glob("[ls]*[gd]") if path.is_file())
            assert process.poll() is None, told
            assert time.monotonic() < until, told
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


class Resetting:
    """Passes bytes on to a port, and resets its first connections after so many bytes from either side."""

    def __init__(self, target, after, times):
        self._target, self._after, self.left = target, after, times
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                # A side that resets its connection ends no other one.
                with contextlib.suppress(OSError), near:
                    with socket.create_connection(("127.0.0.1", self._target)) as far:
                        self._pass(near, far)

    def _pass(self, near, far):
        """One connection, until a side ends it or it is reset."""
        passed, other = 0, {near: far, far: near}
        while True:
            for one in select.select([near, far], [], [])[0]:
                data = one.recv(min(1 << 16, self._after - passed) if self.left else 1 << 16)
                passed += len(data)
                if not data:
                    return
                other[one].sendall(data)
                if self.left and passed >= self._after:
                    self.left -= 1
                    # Without a wait for what is not acknowledged: the other side gets a reset.
                    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return


def main(folder, port, login):
    """Runs the proxy of docs/behind-a-proxy.md until its input ends; leaves the files that the page names."""
    hospital, outside = (
        Authority(folder / "hospital"),
        Authority(folder / "outside", "Authority of the internet"),
    )
    shutil.copy(hospital.file, "authority.pem")
    for made, name in zip(outside.issue(), ("mailbox.crt", "mailbox.key"), strict=True):
        shutil.copy(made, name)
    with open("proxy.txt", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(login)
    with squid(port, authority=hospital, outside=outside, login=login):
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
