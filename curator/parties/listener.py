"""A curator that listens all the time for parties that dial it, and lends their streams to its releases.

A release is a process of its own, and an address can be listened on by one process only. So a listener, where
one runs, holds the parties' streams, and a release asks through it, over a socket that only the curator's own
user can open. It passes frames on without reading more than whether a call has ended.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from ...common.errors import MosaicError, PartyUnavailable, ProtocolError
from ...common.federation.private_files import read_private, write_private
from ...common.processes.locks import exclusive
from ...common.wire import attached
from ...common.wire.sending import Sending
from ...common.wire.status import error_of, refuse
from ...common.wire.tls import OPTIONS
from .attached import Admitted, AttachmentServer, finish
from .connection import RetryPolicy

_SERVICE, _LEND = "dpmosaic.v1.Listener", "Lend"
_PARTY, _ARRIVAL = "party", "arrival-seconds"
_CALLS = 64
_LOCK, _SOCKET = "listener.lock", "listener"


class Listener:
    """Admits the enrolled parties and dealers that dial the curator, and serves this curator's releases.

    Args:
        folder: the curator's folder, in which releases find the listener.
        admitted: whom it admits; see `AttachmentServer`.
        address: host and port to listen on; port 0 for any free port.
        told: called with a name and whether it is attached now, at every change.
        reloaded: see `AttachmentServer`.

    Attributes:
        port: on which it listens.

    Raises:
        DataError: another listener runs, or the address is in use.
    """

    def __init__(
        self,
        folder: Path,
        admitted: Callable[[], Admitted],
        address: str,
        told: Callable[[str, bool], None],
        reloaded: Callable[[Exception | None], None] = lambda error: None,
    ) -> None:
        self._admitted = admitted
        with contextlib.ExitStack() as stack:
            refusal = f"a listener already runs for {folder}; stop it first"
            stack.enter_context(exclusive(folder / _LOCK, refusal))
            self._attachments = AttachmentServer(admitted, address, told, reloaded)
            stack.callback(self._attachments.close)
            # The path of a socket has at most 107 bytes, too few for one in some curator's folder.
            own = tempfile.mkdtemp(prefix="dpmosaic-")
            stack.callback(shutil.rmtree, own, ignore_errors=True)
            self._server = _lending(self._lend, f"{own}/{_SOCKET}")
            stack.callback(lambda: self._server.stop(0).wait())
            write_private(folder / _SOCKET, f"{own}/{_SOCKET}".encode())
            stack.callback((folder / _SOCKET).unlink, missing_ok=True)
            self.port = self._attachments.port
            self._stack = stack.pop_all()

    @property
    def names(self) -> frozenset[str]:
        """The names of those that it admits now."""
        return frozenset(self._admitted().names.values())

    def start(self) -> None:
        """Starts to admit parties and to serve releases."""
        self._attachments.start()
        self._server.start()

    def close(self) -> None:
        """Closes every stream; calls under way end as with a party that disconnects."""
        self._stack.close()

    def _lend(self, frames: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        asked = dict(context.invocation_metadata())
        party = str(asked[_PARTY])
        try:
            if party not in self.names:
                raise ProtocolError(f"{party!r} is not enrolled with --attached; enroll it so first")
            stream = self._attachments.acquire(party, float(asked[_ARRIVAL]))
        except MosaicError as error:
            refuse(context, error)
        done = False

        def over() -> None:
            if not done:
                stream.close()

        try:
            if context.add_callback(over):
                for frame in frames:
                    stream.send(frame)
                for reply in stream.incoming():
                    done = not isinstance(attached.decode_reply(reply), bytes)
                    if done:
                        # Idle again before the caller can call again.
                        self._attachments.release(party, stream)
                    yield reply
                    if done:
                        return
        except PartyUnavailable as error:
            refuse(context, error)
        finally:
            over()


class LentConnection:
    """Carries encoded messages to a party over streams of the curator's listener; see `Connection`.

    Args:
        party: name of the party.
        channel: channel to the listener, from `lender`.
        retry_policy: deadlines.
    """

    def __init__(self, party: str, channel: grpc.Channel, retry_policy: RetryPolicy | None = None) -> None:
        self._party = party
        self._ask = channel.stream_stream(f"/{_SERVICE}/{_LEND}")
        self._retry_policy = retry_policy or RetryPolicy()

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests.

        Raises:
            PartyUnavailable: the party is not attached, or does not finish before the deadline.
            MosaicError: what the party raised.
        """
        sending = Sending(attached.encode_call(method, requests))
        asked = ((_PARTY, self._party), (_ARRIVAL, str(self._retry_policy.arrival_s)))
        call = self._ask(sending.frames(), timeout=self._retry_policy.call_s, metadata=asked)
        sending.begin(call)
        last: attached.Reply | None = None
        try:
            for data in call:
                last = attached.decode_reply(data)
                if isinstance(last, bytes):
                    yield last
        except grpc.RpcError as failed:
            if sending.failure is not None:
                raise sending.failure from None
            raise error_of(failed, self._party) from failed
        finally:
            call.cancel()
        finish(self._party, last)


@contextlib.contextmanager
def lender(folder: Path) -> Iterator[grpc.Channel | None]:
    """A channel to the listener that runs for a curator's folder; None if none runs."""
    named = folder / _SOCKET
    path = read_private(named).decode() if named.exists() else ""
    if not _answers(path):
        yield None
        return
    credentials = grpc.local_channel_credentials(grpc.LocalConnectionType.UDS)
    with grpc.secure_channel(f"unix:{path}", credentials, OPTIONS) as channel:
        yield channel


def _answers(path: str) -> bool:
    """Whether a process listens on a socket; after a crash nobody does."""
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(path)
        except OSError:
            return False
    return True


def _lending(
    serve: Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]], path: str
) -> grpc.Server:
    server = grpc.server(
        ThreadPoolExecutor(_CALLS, thread_name_prefix="lent"), options=OPTIONS, maximum_concurrent_rpcs=_CALLS
    )
    handler = grpc.stream_stream_rpc_method_handler(serve)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_SERVICE, {_LEND: handler})])
    server.add_secure_port(f"unix:{path}", grpc.local_server_credentials(grpc.LocalConnectionType.UDS))
    return server
