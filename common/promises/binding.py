"""Nothing is used twice: what a secret hides is bound to it by its first use, for ever.

Two values under one mask, pad or noise show their difference; coins that are known before what they test is
fixed test nothing. What a role sends is a function of its secret of the release, the signed terms, the query,
its own rows, and what others sent to it. Rows and messages could have another value when something is asked
for again, after a loss or a restart. So a role binds both before anything that depends on them leaves it:

- each message that it receives, by its sender and its labels (`common/dealing/peers`);
- its rows, by the mask, the pads or the query under which they leave it.

A second use with the same content gives the same bytes. One with another content is refused.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Protocol

from ..errors import ProtocolError


def digest_of_labels(labels: Sequence[str]) -> str:
    """The name of a use with these labels: a digest, since columns of groups have long names."""
    return hashlib.sha256(json.dumps(labels).encode()).hexdigest()


class BindingStore(Protocol):
    """Where a role keeps the bindings of one release."""

    def bind(self, kind: str, of: str, digest: str) -> str:
        """Keeps a digest unless there is one; returns the one that is kept, durable on return.

        Args:
            kind: kind of the use.
            of: which one of this kind.
            digest: SHA-256 of the content, as hexadecimal digits.
        """
        ...

    def bound(self, kind: str, of: str) -> str | None:
        """The digest that is kept; None if there is none."""
        ...


class BindingsInMemory:
    """Bindings of a role that nobody starts again: in simulations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], str] = {}

    def bind(self, kind: str, of: str, digest: str) -> str:
        """See `BindingStore`."""
        with self._lock:
            return self._kept.setdefault((kind, of), digest)

    def bound(self, kind: str, of: str) -> str | None:
        """See `BindingStore`."""
        return self._kept.get((kind, of))


class Binding:
    """What each secret of one release hides at one role.

    Args:
        store: where it is kept.
    """

    def __init__(self, store: BindingStore) -> None:
        self._store = store

    def use(self, kind: str, of: str, digest: str) -> None:
        """Binds a content to its use; returns only if this use never had another content.

        Run by: every role, before anything that depends on the content leaves it.

        Args:
            kind: kind of the use, in words that an operator may read.
            of: which one of this kind.
            digest: SHA-256 of the content, as hexadecimal digits.

        Raises:
            ProtocolError: it had another content; nothing that depends on this one may be sent.
        """
        if self._store.bind(kind, of, digest) != digest:
            raise ProtocolError(
                f"expected the same content as before, got another ({kind}): nothing else is sent or hidden "
                "under the same secret a second time; ask the operators what changed, and start a new release"
            )

    def used(self, kind: str, of: str) -> str | None:
        """The digest of the content of an earlier use; None if there was none."""
        return self._store.bound(kind, of)
