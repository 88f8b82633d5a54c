"""JSON values of a small release's certificate, and matching tables."""

import itertools

import numpy as np

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.promises.statement import Claim, first_link, next_link, state
from dpmosaic.curator.certificates.statements import Signatures

DOMAIN = Domain(
    (
        CategoricalAttribute("kind", ("", "<b>x</b>", "y")),
        NumericAttribute("age", 0, 99, 100, nullable=True),
        CodedAttribute("code", 4),
        CategoricalAttribute("town", tuple(f"town {place}" for place in range(20))),
    )
)


def rows(records, seed, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table.from_codes(
        domain, np.column_stack([np.minimum(rng.geometric(0.3, records) - 1, n - 1) for n in domain.sizes])
    )


def measured(*clique, sigma):
    return {"clique": list(clique), "interaction": False, "sigma": sigma, "zcdp_rho": 0.001}


def bounded(*clique, total_variation):
    l1 = 4000 * total_variation
    bound = {"clique": list(clique), "l1": l1, "total_variation": total_variation}
    return {**bound, "confidence": 0.95, "selected": True}


def certificate_form(domain=DOMAIN):
    """JSON values: neighbours in domain order are modelled and measured, one party holds the first half."""
    names = list(domain.names)
    half = len(names) // 2
    pairs = list(itertools.combinations(names, 2))
    return {
        "format": "dpmosaic certificate 1",
        "differentially_private": True,
        "labels": [],
        "created": "2026-01-02T03:04:05+00:00",
        "versions": {"dpmosaic": "0.1.0"},
        "plan": {
            "spec": {
                "budget": {"epsilon": 1.0, "delta": 1e-9, "zcdp_rho": None},
                "adjacency": "zero-out",
                "protocol": "masked",
                "collusions": 1,
                "check": "",
                "sample": None,
                "rows": None,
                "rows_per_person": 1,
                "about": {"purpose": "", "contact": "", "asked": "", "until": ""},
            },
            "attributes": dict(zip(names, domain.sizes, strict=True)),
            "domain_digest": domain.digest(),
            "record_counts": [1200, 800],
            "parties": [[names[:half], names[half:]]] * 2,
            "privacy_unit": PrivacyUnit(Adjacency.ZERO_OUT).in_words,
            "mechanism": {"name": "randdpgen"},
            "workload": [{"clique": list(pair), "weight": 1.0} for pair in pairs],
            "steps": [{"name": "one-way", "title": "Each attribute by itself", "share": 0.25}],
        },
        "promise": {
            "epsilon": 1.0,
            "delta": 1e-9,
            "zcdp_rho_granted": 0.02,
            "zcdp_rho_spent": 0.015,
            "spent_within_grant": True,
            "zcdp_rho_really_spent": 0.015,
            "epsilon_by_privacy_loss_distribution": 0.9,
            "observers": [
                {"who": "the public", "assumes": "nothing", "zcdp_rho": 0.01, "epsilon": 0.75},
                {"who": "the curator", "assumes": "no collusion", "zcdp_rho": 0.015, "epsilon": None},
            ],
        },
        "steps": {"one-way": 0.005, "a step of tomorrow": 0.01},
        "charges": [
            {
                "step": "one-way",
                "clique": names[:1],
                "kind": "marginal",
                "zcdp_rho": 0.005,
                "noise_sigmas_by_slice": [[20.0], [20.0]],
            }
        ],
        "measurements": [
            *(measured(name, sigma=20.0) for name in names),
            *(measured(*pair, sigma=10.0) for pair in itertools.pairwise(names)),
        ],
        "selected_by": "exact L1 distances with noise",
        "rounds": [],
        "error_bounds": [bounded(*pair, total_variation=0.03 * place) for place, pair in enumerate(pairs)],
        "model": {"cliques": [names[:1], *map(list, itertools.pairwise(names))], "size_mb": 0.5},
        "outputs": {"synthetic.csv": "0" * 64},
    }


def signed_by(identities, certificate):
    """All parties sign this certificate, with the entries of their ledgers as they are.

    Args:
        identities: of the parties, by name.
        certificate: a signed certificate that was changed.
    """
    signed = certificate.signed
    claim = Claim(
        decode_terms(signed.terms).release_id, certificate.digest(), certificate.promise.zcdp_rho_spent
    )
    statements = {}
    for party in (*signed.parties, *signed.dealers):
        link = first_link(signed.terms)
        for entry in party.entries:
            link = next_link(link, entry)
        statements[party.name] = state(identities[party.name], party.entries, link, claim, party.mark)
    parties = {party.name: statements.pop(party.name) for party in signed.parties}
    return certificate.with_signatures(
        Signatures.of(signed.terms, signed.curator_signature, parties, statements)
    )
