"""Drafts the file `plan.toml` and the whole table's domain from the cards of the enrolled parties."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from ....common.data.attributes.unmodelled import Identifier
from ....common.data.domain import Domain
from ....common.errors import DataError
from ....common.federation.card import DEALER, Card
from ....common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from .bins_share import DEFAULT_SHARE

_TEMPLATE = """\
# A release, drafted from the cards of the enrolled parties. Review every line.

[about]                         # every party reads this before it decides, and the certificate states it
purpose = {purpose}                    # what the synthetic table is for
contact = {contact}                    # who answers questions about it
{until}            # the last day on which a party may accept the release

[release]
domain = {domain}        # domain of the whole table
# The promise is for one record, which is one row of one slice. A person with several rows, or with rows in
# several slices, is protected by the sum over these rows.
epsilon = {epsilon}                   # the promise
delta = 1e-9
# rows_per_person = "all"       # the promise for a person with all rows, of which each counts in part; or a
                                # number: with up to so many rows of one slice, with more noise. Every party
                                # needs a key column and max_rows_per_person
adjacency = "zero-out"          # or "replace-one"; with [alignment] also "add-remove"
protocol = "masked"             # or "indicator", "trusted": see docs/protocols.md
collusions = 1                  # masked: number of parties that may collude
{dealers}# check = "one-hot"             # masked: parties prove that they open each record once
# sample = 1000000              # masked: rows that marginals across parties use; by default all, at most 10^7
mechanism = "mosaic"            # `dpmosaic mechanisms` lists all
variant = "default"
# settings = {{ time_limit = 60 }}  # parameters of the mechanism
{workload}               # "1way", "2way", "3way", or a JSON file
{target}             # instead of a workload: what users will predict from the other attributes
# rows = 1000                   # synthetic rows; by default as many as the table has, at most 10^7

# The parties of a slice hold columns of the same people, but their rows are not in the same order, or not all
# of them know every person: a private alignment, charged once, gives each person a position.
# [alignment]
# population = "everywhere"     # the people that all parties of the slice know, or "anywhere": that one knows
# rho = 0.002                   # what the alignment may cost, in addition to the promise
# match = [["key:exact"]]       # rows of one person are equal in the first list of fields, else in the next
# keying = "hmac"               # identifiers are hidden under one key of all parties; "ddh": one key of each
# duplicates = "first"          # of several rows of one person at a party; "refuse" stops
# across_slices = "first"       # compare slices too: a person counts in the first slice that has the person

{bins}[network]
call_seconds = 3600.0           # deadline of one call to a party
tries = 6                       # of a call to a party that cannot be reached
{listen}       # for parties that dial the curator
# answer_days = 30              # to wait for the answer of a party by files; 0 stops, and resume goes on
# direct = "allowed"            # openings go straight from party to party where both policies say so;
                                # "required" refuses parties that do not

# The parties of a slice hold the same records in the same order, or are aligned, and different slices hold
# different people.
# Ask the parties, cards do not state it; each refuses a plan that contradicts its policy.
"""

_BINS = """\
[bins]
share = {share}                    # of the promise: a release before chooses the bins of {names}

"""


@dataclass(frozen=True)
class Wishes:
    """What the people who plan a release know about it beside the cards.

    Attributes:
        purpose: what the synthetic table is for.
        contact: who answers questions about it.
        epsilon: the promise.
        until: last day on which a party may accept it; empty for any.
        target: attribute that users will predict; empty for none.
        listen: host:port where parties dial the curator; empty if none does.
    """

    purpose: str = ""
    contact: str = ""
    epsilon: float = 1.0
    until: str = ""
    target: str = ""
    listen: str = ""

    def lines(self) -> dict[str, str]:
        """The parts of a drafted plan that they fill in."""
        return {
            "purpose": json.dumps(self.purpose, ensure_ascii=False),
            "contact": json.dumps(self.contact, ensure_ascii=False),
            "epsilon": str(float(self.epsilon)),
            "until": f"until = {self.until}" if self.until else "# until = 2030-12-31",
            "workload": '# workload = "2way"' if self.target else 'workload = "2way"',
            "target": f"target = {json.dumps(self.target)}" if self.target else '# target = "income"',
            "listen": f"listen = {json.dumps(self.listen)}" if self.listen else '# listen = "0.0.0.0:7444"',
        }


NO_WISHES = Wishes()

_ALONE = "it must collude with no party"
_TOGETHER = "no two of a slice may collude with a party of it"


def draft(
    cards: Sequence[Card],
    slices: Sequence[Sequence[str]] | None,
    domain_file: str,
    wishes: Wishes = NO_WISHES,
) -> tuple[str, Domain]:
    """A plan's text and the whole table's domain, from the cards.

    If several parties of a slice hold an attribute, the one with the fewest attributes answers for it. The
    domain has the rules of all parties; those about columns of different parties are for the curator to add.

    Source: RandDPGen, section 3.2: the curator makes overlapping schemas disjoint.

    Args:
        cards: cards of the enrolled parties.
        slices: names of each slice's parties; None groups parties that hold different attributes.
        domain_file: name of the domain file in the plan.
        wishes: what is known about the release beside the cards.

    Raises:
        DataError: the cards' domains do not partition one table; names them and the fix.
    """
    known = {card.name: card.domain for card in cards if card.domain is not None}
    grouped = [list(names) for names in slices] if slices is not None else _slices_by_columns(known)
    unknown = [name for names in grouped for name in names if name not in known]
    if unknown or not grouped:
        raise DataError(f"not enrolled: {', '.join(unknown) or 'no party is'}; enroll the card first")
    attributes = {a.name: a for name in grouped[0] for a in known[name].attributes}
    for number, names in enumerate(grouped, start=1):
        for name in names:
            for attribute in known[name].attributes:
                if attributes.get(attribute.name, attribute) != attribute:
                    raise DataError(
                        f"{name!r} codes {attribute.name!r} differently; agree on one domain file"
                    )
        held = {attribute for name in names for attribute in known[name]}
        if held != set(attributes):
            odd = ", ".join(sorted(held ^ set(attributes)))
            raise DataError(
                f"slice {number} differs from slice 1 in {odd}; all slices need the same attributes"
            )
    ordered = _merge_orders([known[name].names for names in grouped for name in names])
    dealers = [card.name for card in cards if card.role == DEALER]
    domain = Domain(tuple(attributes[name] for name in ordered))
    bins = _BINS.format(share=DEFAULT_SHARE, names=", ".join(domain.open)) if domain.open else ""
    text = _TEMPLATE.format(
        domain=json.dumps(domain_file), dealers=stated_dealers(dealers, grouped), bins=bins, **wishes.lines()
    )
    for names in grouped:
        text += f"\n[[slice]]\nparties = {json.dumps(names)}\n"
        left = _overlaps(names, known)
        if left:
            stated = ", ".join(f"{name} = {json.dumps(out)}" for name, out in left.items())
            text += (
                f"# Attributes that another party of the slice answers for.\nleaves_out = {{ {stated} }}\n"
            )
    identifiers = {
        column.name: column
        for domain in known.values()
        for column in domain.unmodelled
        if isinstance(column, Identifier) and column.name not in attributes
    }
    rules = dict.fromkeys(rule for names in grouped for name in names for rule in known[name].rules)
    return text, replace(domain, unmodelled=tuple(identifiers.values()), rules=tuple(rules))


def proposed_slices(cards: Sequence[Card]) -> list[list[str]]:
    """The parties grouped such that those of a slice hold different attributes."""
    return _slices_by_columns({card.name: card.domain for card in cards if card.domain is not None})


def stated_dealers(dealers: Sequence[str], slices: Sequence[Sequence[str]]) -> str:
    """The lines of a drafted plan that name its dealers."""
    if dealers:
        alone = len(dealers) < REPLICATED
        named = json.dumps(dealers[:1] if alone else list(dealers))
        return f"dealers = {named}  # who deals masks; {_ALONE if alone else _TOGETHER}\n"
    text = f"dealers = {json.dumps([CURATOR_DEALS])}         # who deals masks; for trials: {_ALONE}\n"
    if parties := _dealing_parties(slices):
        text += f"# dealers = {json.dumps(parties)}  # parties, which need may_deal in their policies\n"
    return text


def _dealing_parties(slices: Sequence[Sequence[str]]) -> list[str]:
    """Parties such that every slice of several has three of other slices; empty if there are none."""
    found: list[str] = []
    for name in filter(None, chain.from_iterable(zip_longest(*slices))):
        found.append(name)
        if all(len(names) < 2 or len(set(found) - set(names)) >= REPLICATED for names in slices):
            return found if len(found) >= REPLICATED else []
    return []


def _overlaps(names: Sequence[str], known: Mapping[str, Domain]) -> dict[str, list[str]]:
    """For each party of one slice, what it leaves out so that only one party answers for each attribute."""
    left: dict[str, list[str]] = {}
    for attribute in dict.fromkeys(a for name in names for a in known[name]):
        holders = [name for name in names if attribute in known[name].names]
        kept = min(holders, key=lambda name: len(known[name]))
        for name in holders:
            if name != kept:
                left.setdefault(name, []).append(attribute)
    for name, out in left.items():
        if len(out) == len(known[name]):
            raise DataError(
                f"other parties of its slice hold all attributes of {name!r}; omit it from the plan with "
                "--slice"
            )
    return left


def _slices_by_columns(known: Mapping[str, Domain]) -> list[list[str]]:
    slices: list[list[str]] = []
    for name, domain in known.items():
        for names in slices:
            if not any(set(domain) & set(known[other]) for other in names):
                names.append(name)
                break
        else:
            slices.append([name])
    return slices


def _merge_orders(orders: Sequence[Sequence[str]]) -> list[str]:
    """All attributes, in an order that agrees with every party's."""
    names = list(dict.fromkeys(name for order in orders for name in order))
    result: list[str] = []
    while names:
        free = [n for n in names if not any(n in o and set(o[: o.index(n)]) & set(names) for o in orders)]
        if not free:
            raise DataError(
                "two parties hold attributes in opposite orders; give all parties the same domain file"
            )
        result.append(free[0])
        names.remove(free[0])
    return result
