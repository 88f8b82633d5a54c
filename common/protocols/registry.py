"""The measurement protocols by name: who may use each, what it gives, whom it takes trusting whom.

A protocol is an entry here, a measurer (`curator/measurers/catalogue.py`) and an answerer
(`party/answerers/catalogue.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import DataError
from ..extensions import PROTOCOLS, extensions
from ..forms.nearest import hint


class Users(enum.Enum):
    """Who may use a protocol."""

    DAEMONS = "daemons and simulations"
    SIMULATIONS = "simulations"


class Scores(enum.Enum):
    """Whether a protocol gives exact distances with noise (`Measurer.score`)."""

    ALWAYS = "always"
    AT_MOST_ONE_COLLUSION = "with at most one collusion"
    NEVER = "never"


@dataclass(frozen=True)
class Protocol:
    """What everybody has to know of a measurement protocol.

    Attributes:
        name: on the command line, in plans, terms and certificates.
        users: who may use it.
        scores: whether it gives exact distances with noise.
        trust: who has to trust whom, in a few words.
        explanation: the same in sentences, for the reader of a report.
        private: the result keeps the promise that is stated; what does not reproduces a paper's text.
        tolerates_collusions: a release states how many parties may collude.
        one_party: one party holds the whole table.
    """

    name: str
    users: Users
    scores: Scores
    trust: str
    explanation: str
    private: bool = True
    tolerates_collusions: bool = False
    one_party: bool = False


@dataclass(frozen=True)
class Collusions:
    """Who has to collude to learn more than a release promises, by who deals its randomness.

    The threat model contains these values as a table.

    Attributes:
        release: protocol and dealers.
        records: who together read the records of a slice.
        cells: who together read exact cells of the marginals that are scored.
        noise: who together see a record through less noise than is promised.
        alone: what one role reads by itself if it computes something else than the protocol says.
    """

    release: str
    records: str
    cells: str
    noise: str
    alone: str


_REPRODUCES_A_PAPER = (
    "This protocol reproduces a paper's text: it shows what the error would be, and protects no record."
)

MASKED = Protocol(
    "masked",
    Users.DAEMONS,
    Scores.AT_MOST_ONE_COLLUSION,
    "one dealer, or two of three, to collude with no party of a slice; at most t of the n parties to collude "
    "with each other; three evaluators of scores",
    "No party showed its records to another party or to the curator. The parties turned every count into "
    "random-looking shares, and the curator saw only sums with noise in them. Dealers gave "
    "the parties the randomness of the shares. A certificate states who "
    "would have to collude to read more. The parties are trusted not to collude beyond the table below.",
    tolerates_collusions=True,
)
TRUSTED = Protocol(
    "trusted",
    Users.DAEMONS,
    Scores.ALWAYS,
    "one place that sees the whole table",
    "One place saw the whole table and added the noise. All people whose records are in the table "
    "trusted that place; readers of the release need not be trusted.",
    one_party=True,
)
INDICATOR = Protocol(
    "indicator",
    Users.DAEMONS,
    Scores.NEVER,
    "no other role: each party adds noise before anything leaves it",
    "No other role was trusted: every party added noise to its own records before anything left it. The "
    "price is accuracy: dependence between attributes of different parties is mostly lost in that noise.",
)
THEOREM = Protocol(
    "theorem",
    Users.SIMULATIONS,
    Scores.NEVER,
    "not private: draws the noise that the RandDPGen paper's Theorem 4.1 states, which no protocol attains",
    _REPRODUCES_A_PAPER,
    private=False,
)
INDICATOR_MLE = Protocol(
    "indicator-mle",
    Users.SIMULATIONS,
    Scores.NEVER,
    "not private as the paper charges it: averages e copies, which costs e rho",
    _REPRODUCES_A_PAPER,
    private=False,
)

BUILT_IN: Mapping[str, Protocol] = {
    protocol.name: protocol for protocol in (MASKED, TRUSTED, INDICATOR, THEOREM, INDICATOR_MLE)
}

CHECK = "one-hot"
"""The check that parties of a release by `masked` may make of every opening (`masked/one_hot`)."""

_NOISE = "more than t parties"
_OPENING = "without `check`, a party: single records of its slice"


def _evaluators(dealer: str) -> str:
    return f"two of the three evaluators; of only two parties, either party and {dealer}"


COLLUSIONS = (
    Collusions(
        "`masked`, the curator deals",
        "the curator and any party of the slice",
        _evaluators("the curator"),
        _NOISE,
        _OPENING,
    ),
    Collusions(
        "`masked`, one dealer",
        "the dealer and any party of the slice",
        _evaluators("the dealer"),
        _NOISE,
        _OPENING,
    ),
    Collusions(
        "`masked`, three dealers",
        "two of the three dealers and any party of the slice",
        _evaluators("the first dealer"),
        _NOISE,
        _OPENING,
    ),
    Collusions(
        "`masked`, three or more slices of one party each: no dealer",
        "nobody",
        "two of the three evaluators",
        _NOISE,
        "nothing",
    ),
    Collusions("`trusted`", "the place that sees the table", "the same", "the same", "the same"),
    Collusions("`indicator`", "nobody", "nobody", "nobody", "nothing"),
)
"""For each kind of release that keeps a promise, who could learn more than it."""


def protocol_names(*, for_daemons: bool = False) -> tuple[str, ...]:
    """The names of all protocols, the default first and those of other packages last.

    Args:
        for_daemons: leaves out those that only simulations may use.
    """
    own = [name for name, found in BUILT_IN.items() if not for_daemons or found.users is Users.DAEMONS]
    return (*own, *extensions(PROTOCOLS, BUILT_IN))


def find_protocol(name: str) -> Protocol | None:
    """The protocol of this name; None where there is none.

    Raises:
        DataError: a package brings it that cannot be used.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    extension = extensions(PROTOCOLS, BUILT_IN).get(name)
    found: Protocol | None = None if extension is None else extension.load(Protocol)
    if found is not None and found.name != name:
        raise DataError(f"protocol {name!r}: its package calls it {found.name!r}; fix the package's metadata")
    return found


def protocol_named(name: str, *, for_daemons: bool = False) -> Protocol:
    """The protocol of this name.

    Args:
        name: of the protocol.
        for_daemons: refuses those that only simulations may use.

    Raises:
        DataError: there is none; names those there are.
    """
    found = find_protocol(name)
    if found is None or (for_daemons and found.users is not Users.DAEMONS):
        known = protocol_names(for_daemons=for_daemons)
        raise DataError(f"protocol: expected one of {', '.join(known)}, got {name!r}{hint(name, known)}")
    return found
