"""What every honest role does with its secrets, over a whole transcript, and the three rules about it."""

import contextlib
import hashlib
import threading
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from dpmosaic.common.crypto.envelope import TAG_BYTES
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.privacy import noise
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.party.answerers.masked.openings import Openings
from dpmosaic.party.policies.allowance import Processors
from support.adversary.pads import Pad
from support.adversary.script import DELIVERING, MESSAGES, METHODS, release_of

_SENT = {name for name, method in METHODS.items() if method.output_type is not pb.Acknowledgement.DESCRIPTOR}
"""Methods whose replies say something."""

FRAMES = (
    ("common.crypto.envelope", "FRAME_BYTES", TAG_BYTES),
    ("common.crypto.envelope", "_CHUNK_BYTES", 0),
    ("common.frames", "FRAME_BYTES", TAG_BYTES),
    ("common.wire.streams", "FRAME_BYTES", TAG_BYTES),
)
"""Sizes of frames, and how many bytes each is longer than what a frame carries."""

SMALL = (
    ("common.protocols.masked.plan", "OPENED_ROWS", 20),
    ("common.protocols.indicator", "_BLOCK_CELLS", 8),
)
"""Sizes by which openings of small releases have several ranges, and answers several blocks."""


class Reused(AssertionError):
    """A secret of an honest role was used for two values."""


@dataclass
class Call:
    """What a role did in one call.

    Attributes:
        place: place of the role.
        method: the method.
        release: id of its release.
        header: of a delivery, what it says of itself but for bytes such as coins.
        replies: encoded replies.
        sealed: labels of every stream that was sealed, and its content as far as it was read.
        hidden: key and position of secret words, and what they were added to.
        streams: keys and positions of all secret words that were read.
        read: key of each opened or dealt matrix that was read, and its digest.
        taken: names of messages of other roles that were taken whole, and their digests.
    """

    place: int
    method: str
    release: str = ""
    header: bytes = b""
    replies: list = field(default_factory=list)
    sealed: list = field(default_factory=list)
    hidden: list = field(default_factory=list)
    streams: set = field(default_factory=set)
    read: list = field(default_factory=list)
    taken: list = field(default_factory=list)

    @property
    def sent(self):
        """Whether something that may depend on rows left the role."""
        return bool(self.sealed or (self.replies and self.method in _SENT))


class Watch:
    """Sees how honest roles use secrets, from the calls that they answer.

    Rule (a): under one secret there is one value. The labels of a sealed stream have one content. A word of a
    secret stream is added to one value by one role. A reply to the curator is the same whenever it reads the
    same secret words. The words by which a delivery is checked check one matrix.
    Rule (b): what a role sends depends on one version of each matrix that it received.
    Rule (c): a role takes one message from another one under its labels, whatever it does with it then.

    Attributes:
        honest: places of the roles that are watched.
        deviating: places of roles whose sealed streams `alter` changes.
        alter: changes the content of a sealed stream of a deviating role; None for no change.
    """

    def __init__(self):
        self.honest, self.deviating, self.alter = set(), set(), None
        self.begin()

    def begin(self):
        """Forgets all that was seen."""
        self._now = threading.local()
        self._values = defaultdict(set)
        self._streamed = defaultdict(list)
        self._pending = defaultdict(list)
        self._resampled = set()

    def cut_frames(self, carried):
        """From now on, a frame carries so many bytes, for as long as this is installed."""
        for module, name, longer in FRAMES:
            self._patched.setattr(f"dpmosaic.{module}.{name}", carried + longer)

    def restarted(self, place, other_sampler):
        """A role starts again: what it computed and did not send is lost.

        Args:
            place: its place.
            other_sampler: whether it draws other noise from now on.
        """
        self._resampled = self._resampled - {place} | ({place} if other_sampler else set())
        self._pending = defaultdict(
            list, {key: kept for key, kept in self._pending.items() if key[0] != place}
        )

    @contextlib.contextmanager
    def call(self, place, method, requests):
        """A call that a role answers."""
        outer = getattr(self._now, "call", None)
        call = self._now.call = Call(place, method, *_named(method, requests))
        Pad.hidden.note = self._added
        try:
            yield call
        finally:
            self._now.call = outer
            if place in self.honest - self.deviating:
                self._note(call)

    def _note(self, call):
        place = call.place
        for name, digest in call.taken:
            self._values["takes", place, name].add(digest)
        for key, digest in call.read:
            if call.method == "Deliver":
                for stream in call.streams:
                    self._values["checks", place, call.header, key, stream].add(digest)
            else:
                self._pending[place, call.release].append((key, digest))
        if not call.sent:
            return
        for label, content in call.sealed:
            self._stream(("seals", place, label), bytes(content))
        if call.sealed:
            for secret, value in call.hidden:
                self._stream(("hides", place, secret), value)
        else:
            for stream in call.streams:
                self._stream(("answers", place, stream), tuple(call.replies))
        for key, digest in self._pending.pop((place, call.release), ()):
            self._values["opened", place, call.release, key].add(digest)

    def _stream(self, use, content):
        """Notes a content, perhaps the beginning of one that is known, or a known one that goes on."""
        for number, known in enumerate(self._streamed[use]):
            size = min(len(known), len(content))
            if known[:size] == content[:size]:
                self._streamed[use][number] = max(known, content, key=len)
                return
        self._streamed[use].append(content)

    def check(self):
        """Compares all uses of every secret.

        Raises:
            Reused: a rule is broken; names the first one.
        """
        pads = {use[2][0] for use in self._streamed if use[0] == "hides"}
        for use, values in (*self._streamed.items(), *self._values.items()):
            if len(values) < 2 or (use[0] == "checks" and use[4][0] in pads):
                continue
            raise Reused(f"role {use[1]} {use[0]} {len(values)} values by one secret: {_shown(use[2:])}")

    def taken_twice(self):
        """Labels of the messages of which a role took two."""
        return {use[2][2] for use, digests in self._values.items() if use[0] == "takes" and len(digests) > 1}

    @contextlib.contextmanager
    def installed(self, monkeypatch):
        """Observes streams, sealed messages and received matrices for as long as the context lasts."""
        with monkeypatch.context() as patched:
            self._install(patched)
            yield self

    def _install(self, patched):
        begin, read, seal, blocks = RandomStream.__init__, RandomStream.bytes, Peers.seal, Openings.blocks
        accepted, received = noise._draw_and_accept, Peers._unseal_and_bind

        def begun(stream, key, start=0):
            begin(stream, key, start)
            stream.read = start

        def drawn(stream, count):
            call, words = getattr(self._now, "call", None), read(stream, count)
            place = stream._key, stream.read
            stream.read += count
            if call is None:
                return words
            call.streams.add(place)
            return Pad.of(words, [place])

        def sealed(peers, recipient, what, payload):
            call = getattr(self._now, "call", None)
            if call is not None and call.place in self.deviating and self.alter is not None:
                payload = [self.alter(b"".join(bytes(memoryview(piece).cast("B")) for piece in payload))]
            if call is not None:
                content = bytearray()
                call.sealed.append(((peers._digest, recipient, tuple(what)), content))
                payload = _noted(content, payload)
            return seal(peers, recipient, what, payload)

        def taken(peers, sender, what, payload):
            digest = hashlib.sha256()

            def noted():
                for piece in payload:
                    digest.update(piece)
                    yield piece

            yield from received(peers, sender, what, noted())
            call = getattr(self._now, "call", None)
            if call is not None:
                call.taken.append(((peers._digest, sender, tuple(what)), digest.digest()))

        def opened(matrices, key, rows):
            call, digest = getattr(self._now, "call", None), hashlib.sha256()
            for block in blocks(matrices, key, rows):
                digest.update(block.data.cast("B"))
                yield block
            if call is not None:
                call.read.append((key, digest.digest()))

        def sampled(*given):
            call, draws = getattr(self._now, "call", None), accepted(*given)
            return -draws if call is not None and call.place in self._resampled else draws

        self._patched = patched
        for module, name, value in SMALL:
            patched.setattr(f"dpmosaic.{module}.{name}", value)
        # Seconds decide nothing here, and asking for them takes as long as a small frame.
        patched.setattr(Processors, "count_time", lambda _: contextlib.nullcontext())
        patched.setattr(noise, "_draw_and_accept", sampled)
        patched.setattr(RandomStream, "__init__", begun)
        patched.setattr(RandomStream, "bytes", drawn)
        patched.setattr(Peers, "seal", sealed)
        patched.setattr(Peers, "_unseal_and_bind", taken)
        patched.setattr(Openings, "blocks", opened)

    def _added(self, streams, offset, value):
        call = getattr(self._now, "call", None)
        if call is not None:
            content = np.asarray(value).tobytes()
            call.hidden.extend(((key, start + offset), content) for key, start in streams)


def _noted(content, payload):
    for piece in payload:
        content += memoryview(piece).tobytes()
        yield piece


def _named(method, requests):
    """The release of a call, and what a delivery says of itself but for bytes such as coins."""
    try:
        message = MESSAGES[method].FromString(requests[0] if requests else b"")
    except DecodeError:
        return "", b""
    if method not in DELIVERING:
        return release_of(message), b""
    for one in message.header.DESCRIPTOR.fields:
        if one.type == FieldDescriptor.TYPE_BYTES:
            message.header.ClearField(one.name)
    return message.header.release_id, message.header.SerializeToString()


def _shown(one):
    """A secret in a message, with keys and digests cut short."""
    if isinstance(one, bytes):
        return one.hex()[:12]
    return f"({', '.join(map(_shown, one))})" if isinstance(one, tuple) else str(one)
