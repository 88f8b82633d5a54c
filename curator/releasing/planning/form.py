"""The form of the file `plan.toml`: its sections and keys, and the parameters of every mechanism."""

from __future__ import annotations

from ....common.data.related.stated import COLUMN, IMPLIED_KEYS, TABLE_KEYS
from ....common.errors import MosaicError
from ....common.forms.options import keys_of
from ....common.forms.several import TEXTS, Either, ListOf
from ....common.forms.tables import Cases, Key, MapOf, Table
from ....common.forms.values import POSITIVE, SHARE, Choice, Day, Number, Scalar, Text, whole
from ....common.protocols.aligned import Population
from ....common.protocols.alignment.plan import FIRST, KEYINGS, REFUSE
from ....common.protocols.registry import protocol_names
from ....common.release_spec import ReleaseSpec
from ...mechanisms.catalogue import entry_named, mechanism_names, parameter_forms
from ...parties.direct_streams import DirectStreams

DEFAULT_MECHANISM = "mosaic"

_PARTIES = ListOf(Text(), some=True, like="a list of names")

_SLICE = Table(
    {
        "parties": Key(_PARTIES, "Parties that hold columns of the same people.", required=True),
        "leaves_out": Key(
            MapOf(TEXTS, "a table of lists of attributes"),
            "By party, attributes that another party of the slice answers for.",
        ),
        "holds": Key(
            MapOf(TEXTS, "a table of lists of tables"),
            "By party, the related tables that it holds; a party alone in its slice holds all.",
        ),
    }
)

_TABLE = Table(
    {
        **TABLE_KEYS,
        "file": Key(Text(), "With public: the file of its rows, such as wards.csv."),
        **IMPLIED_KEYS,
        "series": Key(
            COLUMN,
            "Column of categories, such as a test: what follows what is kept within rows of one value of it.",
        ),
        "summaries": Key(
            MapOf(MapOf(Either((Scalar(), ListOf(Scalar()))))),
            'What rows of the other table say of these: { stroke = { code = ["I63"] } }; also first, last, '
            "count and time.",
        ),
        "workload": Key(
            ListOf(ListOf(Text())),
            'Pairs of columns that matter: [["ward", "days"], ["ward", "previous ward"], ["ward", '
            '"patients.sex"]]; without it, all.',
        ),
    }
)

_ALIGNMENT = Table(
    {
        "population": Key(
            Choice(tuple(kind.value for kind in Population)),
            "The people at all parties of a slice, or at any.",
        ),
        "rho": Key(POSITIVE, "What the alignment may cost, zCDP."),
        "keying": Key(Choice(KEYINGS), "How identifiers are hidden: hmac, or ddh."),
        "match": Key(ListOf(TEXTS, like="lists of fields"), "Rows of one person are equal in one of these."),
        "duplicates": Key(Choice((FIRST, REFUSE)), "If a party has several rows of one person."),
        "across_slices": Key(Choice((FIRST,)), "A person counts in the first slice that has the person."),
    }
)

_ABOUT = Table(
    {
        "purpose": Key(Text(), "What the synthetic table is for."),
        "contact": Key(Text(), "Who answers questions about it."),
        "until": Key(Day(), "The last day on which a party may accept the release."),
    }
)

_NETWORK = Table(
    {
        "call_seconds": Key(POSITIVE, "Deadline of one call to a party."),
        "tries": Key(whole(1), "Tries of a call to a party that cannot be reached."),
        "away_seconds": Key(
            Number(least=0.0), "Wait for a party that is away; then the release stops or goes on."
        ),
        "answer_days": Key(
            Number(least=0.0, most=3650.0),
            "Days to wait for the answer of a party by files; 0 to stop, and resume then.",
        ),
        "listen": Key(Text(), "host:port for parties that dial the curator."),
        "direct": Key(Choice(tuple(DirectStreams)), "Openings from party to party without the curator."),
    }
)


def plan_form() -> Table:
    """The form of a plan, with the mechanisms and protocols that are installed."""
    return Table(
        {
            "about": Key(_ABOUT, "What every party reads before it decides."),
            "release": Key(_release(), "What is released.", required=True),
            "tables": Key(MapOf(_TABLE), "Related tables of the same people, in place of a domain."),
            "alignment": Key(_ALIGNMENT, "How rows of the same people are found."),
            "bins": Key(Table({"share": Key(SHARE, "Share of the budget that chooses bins.")})),
            "network": Key(_NETWORK, "Deadlines, retries, and where parties dial the curator."),
            "slice": Key(ListOf(_SLICE, some=True, like="a list of [[slice]]"), required=True),
        }
    )


def _release() -> Table:
    return Table(
        {
            "domain": Key(Text(), "The domain file of the whole table; of related tables, see [tables]."),
            "epsilon": Key(POSITIVE, "The promise, with delta."),
            "delta": Key(SHARE, "The promise, with epsilon."),
            "rho": Key(POSITIVE, "The promise in zCDP, instead of epsilon."),
            **keys_of(ReleaseSpec),
            "protocol": Key(Choice(protocol_names(for_daemons=True)), "How marginals are measured."),
            "dealers": Key(_PARTIES, "masked: who deals randomness."),
            "mechanism": Key(Choice(mechanism_names()), "The mechanism; `dpmosaic mechanisms` lists them."),
            "workload": Key(Text(), "1way, 2way, 3way, or a JSON file."),
            "target": Key(Text(), "Instead of a workload: the attribute that users will predict."),
        },
        Cases("mechanism", DEFAULT_MECHANISM, {name: _of_mechanism(name) for name in mechanism_names()}),
    )


def _of_mechanism(name: str) -> dict[str, Key]:
    """The keys that depend on the mechanism."""
    try:
        variants = tuple(entry_named(name).variants)
        parameters = Table({key: Key(form) for key, form in parameter_forms(name).items()})
    except MosaicError:
        # The mechanism of another package that cannot be used here is refused when a plan names it.
        return {"settings": Key(MapOf(_SETTING)), "variant": Key(Text())}
    return {
        "settings": Key(parameters, f"Parameters of {name}."),
        "variant": Key(Choice(variants), "default, or paper to follow the paper's text."),
    }


_SETTING = Either((Number(), Text()))
