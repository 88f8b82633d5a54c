"""Terms of a release: of a single party, or of a partition."""

from dataclasses import fields, replace

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.federation.protocol_versions import NEWEST
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose, ReleaseTerms


def id_of(label):
    """The id of the release that a test calls by this label."""
    return str(label).encode().hex().ljust(32, "0")


RELEASE_ID = id_of("r")

PURPOSE = Purpose("d" * 64, '{"name": "mosaic"}', "1 marginals", "w" * 64)
SPEC = ReleaseSpec(Budget(zcdp_rho=1e300))
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
    version=NEWEST,
    rows_per_person=1,
):
    """The terms of a release; by default of a single party with one attribute."""
    spec = replace(SPEC, protocol=protocol, adjacency=adjacency, rows_per_person=rows_per_person)
    return ReleaseTerms(release_id, version, spec.over(plan), granted, plan, PURPOSE)


def terms_with(terms, **changes):
    """Terms with other fields: their own, or by their names those of what they promise and what they are for.

    What they promise follows what a changed plan agrees on.
    """
    parts = {"spec": terms.spec, "purpose": terms.purpose}
    for name, part in parts.items():
        inner = {one.name: changes.pop(one.name) for one in fields(part) if one.name in changes}
        parts[name] = replace(part, **inner)
    spec = parts["spec"].over(changes["plan"]) if "plan" in changes else parts["spec"]
    return replace(terms, **{**parts, "spec": spec, **changes})


def terms_for(party, **changes):
    """The terms of a release of one party, which holds the whole table, as it describes itself."""
    own = party.describe()
    plan = alone(own.domain, own.record_count, own.name, own.identity)
    return terms_with(terms_of(plan=plan), **changes)
