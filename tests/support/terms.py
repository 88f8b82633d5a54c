"""Terms of a release: of a single party, or of a partition."""

from dataclasses import replace

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.messages import PROTOCOL_VERSION, Purpose, ReleaseTerms
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.partition import Partition, RosterEntry


def id_of(label):
    """The id of the release that a test calls by this label."""
    return str(label).encode().hex().ljust(32, "0")


RELEASE_ID = id_of("r")

PURPOSE = Purpose(Budget(zcdp_rho=1e300), "d" * 64, '{"name": "mosaic"}', "1 marginals", "w" * 64)
"""Promises so little that any grant keeps the promise."""


def alone(domain, records, name="north", identity=b"n" * 32):
    """The partition of a table that one party holds."""
    coded = Domain.coded({attribute: domain[attribute].size for attribute in domain})
    return Partition(coded, (RosterEntry(name, 0, coded.names, records, identity),))


SOMEBODY = alone(Domain.coded({"a": 2}), 9)


def terms_of(
    release_id=RELEASE_ID,
    protocol="indicator",
    adjacency=Adjacency.ZERO_OUT,
    granted=1.0,
    plan=SOMEBODY,
    version=PROTOCOL_VERSION,
    rows_per_person=1,
):
    """The terms of a release; by default of a single party with one attribute."""
    purpose = replace(PURPOSE, rows_per_person=rows_per_person)
    return ReleaseTerms(release_id, version, protocol, adjacency, granted, plan, purpose)


def terms_for(party, **changes):
    """The terms of a release of one party, which holds the whole table, as it describes itself."""
    own = party.describe()
    plan = alone(own.domain, own.record_count, own.name, own.identity)
    return replace(terms_of(plan=plan), **changes)
