"""The marginals that a release should preserve, each with a weight."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..bounded import json_of, read_bytes
from ..errors import DataError
from ..forms.nearest import hint
from .compared import counted_in_both
from .domain import Clique, Domain
from .table import Table, check_comparable

TARGET_WEIGHT = 5.0
"""Weight of the marginals with a target, where all other pairs have 1."""

TARGET_CELLS = 1 << 14
"""Largest triple with a target, in cells: noise dominates larger ones, and each takes time to score."""

LARGEST_WORKLOAD = 1 << 22
"""Most marginals of all k attributes: all pairs of 2,896 attributes."""

TARGET_TRIPLES = 1000
"""Most triples with a target; of more the smallest are in the workload."""


@dataclass(frozen=True)
class Workload:
    """Marginals with weights.

    Attributes:
        cliques: distinct, each in domain order.
        weights: c_r >= 0 for each clique, not all zero.
    """

    cliques: tuple[Clique, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.cliques) != len(self.weights):
            raise ValueError(f"{len(self.cliques)} cliques need as many weights, not {len(self.weights)}")
        if not self.cliques:
            raise DataError("a workload needs at least one clique; name the marginals to preserve")
        if () in self.cliques:
            raise DataError("a clique of the workload is empty; name at least one attribute in each")
        known: set[frozenset[str]] = set()
        for clique in self.cliques:
            if frozenset(clique) in known:
                raise DataError(f"the workload names the clique {', '.join(clique)} twice; name each once")
            known.add(frozenset(clique))
        if not all(math.isfinite(weight) and weight >= 0 for weight in self.weights):
            raise DataError("a weight of the workload is negative or not finite; give numbers from 0 up")
        if not any(self.weights):
            raise DataError(
                "all weights of the workload are zero; give at least one clique a positive weight"
            )

    @property
    def in_words(self) -> str:
        """Number and sizes of the marginals, and which attribute matters most, if one does.

        Such as "91 marginals of 2 attributes", or "196 marginals of 2 to 3 attributes, with 5 times the
        weight for those with income".
        """
        sizes = sorted({len(clique) for clique in self.cliques})
        widths = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return f"{len(self.cliques)} marginals of {widths} attributes{self._target_in_words}"

    @property
    def _target_in_words(self) -> str:
        """Of two weights, the attribute in all marginals of the larger one and in no other."""
        weights = sorted(set(self.weights))
        if len(weights) != 2 or not weights[0]:
            return ""
        both = list(zip(self.cliques, self.weights, strict=True))
        heavy = [set(clique) for clique, weight in both if weight == weights[1]]
        light = chain.from_iterable(clique for clique, weight in both if weight == weights[0])
        targets = set.intersection(*heavy) - set(light)
        if len(targets) != 1:
            return ""
        return f", with {weights[1] / weights[0]:g} times the weight for those with {targets.pop()}"

    def digest(self) -> str:
        """SHA-256 (hex) of the marginals and their weights, in their order."""
        form = json.dumps(list(zip(self.cliques, self.weights, strict=True)), separators=(",", ":"))
        return hashlib.sha256(form.encode("ascii")).hexdigest()

    @classmethod
    def all_kway(cls, domain: Domain, k: int) -> Workload:
        """Every clique of k attributes, all of weight 1.

        An attribute of one value adds nothing to a clique, so these are cliques of the others. If fewer than
        k others are left, they are one clique; if none, all attributes are cliques of one.

        Raises:
            DataError: the domain has fewer attributes, or too many cliques.
        """
        if not 1 <= k <= len(domain):
            raise DataError(f"expected k from 1 to the domain's {len(domain)} attributes, got {k}")
        varied = domain.varied
        if math.comb(len(varied), min(k, len(varied))) > LARGEST_WORKLOAD:
            raise DataError(
                f"expected a workload of at most {LARGEST_WORKLOAD:,} marginals, got all of {k} among "
                f"{len(varied):,} attributes; drop columns that are not needed, or name fewer marginals"
            )
        cliques = tuple(combinations(varied, min(k, len(varied)))) if varied else _singles(domain)
        return cls(cliques, (1.0,) * len(cliques))

    @classmethod
    def for_target(cls, domain: Domain, target: str) -> Workload:
        """All pairs, and all triples with a target that are small enough; those with the target weigh more.

        What predicts the target is in these. Of the triples the smallest are taken, up to `TARGET_TRIPLES`
        and each of at most `TARGET_CELLS`.

        Raises:
            DataError: the domain does not have the target, or nothing beside it.
        """
        if target not in domain or len(domain) < 2:
            near = "" if target in domain else hint(target, domain.names)
            raise DataError(
                f"target: expected an attribute of the domain that has others beside it, got {target!r}"
                f"{near}; name what users will predict"
            )
        names = [name for name in domain if domain[name].size > 1 or name == target]
        if len(names) == 1:
            return cls(_singles(domain), (1.0,) * len(domain))
        triples = [clique for clique in combinations(names, 3) if target in clique]
        small = sorted((c for c in triples if domain.cells(c) <= TARGET_CELLS), key=domain.cells)
        kept = set(small[:TARGET_TRIPLES])
        cliques = (*combinations(names, 2), *(clique for clique in triples if clique in kept))
        return cls(cliques, tuple(TARGET_WEIGHT if target in clique else 1.0 for clique in cliques))

    @classmethod
    def wanted(cls, domain: Domain, workload: Workload | str | None, target: str | None) -> Workload:
        """The workload that a user asked for: given, named, or by a target; by default all pairs.

        Raises:
            DataError: both are given, or one is invalid.
        """
        if target is not None:
            if workload is not None:
                raise DataError(
                    "target: expected it without a workload, since it chooses the marginals, got both; "
                    "leave one out"
                )
            return cls.for_target(domain, target)
        if workload is None:
            return cls.all_kway(domain, min(2, len(domain)))
        return workload if isinstance(workload, Workload) else cls.parse(domain, workload)

    @classmethod
    def from_json(cls, domain: Domain, form: object) -> Workload:
        """Reads a workload.

        Args:
            domain: of the table.
            form: {"kway": k}, or a list whose entries are lists of names (weight 1) or objects
                {"clique": [names], "weight": w}.

        Raises:
            DataError: another form, or an invalid clique or weight.
        """
        if isinstance(form, Mapping) and set(form) == {"kway"} and _is_integer(form["kway"]):
            return cls.all_kway(domain, form["kway"])
        if not isinstance(form, list):
            raise DataError('a workload is a list of cliques or {"kway": k}; fix the workload')
        entries = [_entry(entry) for entry in form]
        return cls(
            tuple(domain.canonical(names) for names, _ in entries), tuple(weight for _, weight in entries)
        )

    @classmethod
    def parse(cls, domain: Domain, text: str) -> Workload:
        """A workload from a command line: `2way` for all pairs, `3way` for all triples, or a JSON file."""
        if match := re.fullmatch(r"(\d+)way", text):
            return cls.all_kway(domain, int(match[1]))
        return cls.load(domain, text)

    @classmethod
    def load(cls, domain: Domain, path: str | Path) -> Workload:
        """Reads a workload file.

        Raises:
            DataError: the file cannot be read, is not JSON or is no workload.
        """
        try:
            form = json_of(read_bytes(path))
        except OSError as cause:
            raise DataError(
                f"the workload file {path} cannot be read: {cause.strerror}; name a JSON file, or 1way, 2way "
                "or 3way"
            ) from cause
        except ValueError as cause:
            raise DataError(f"the workload file {path} is not JSON in UTF-8: {cause}") from cause
        return cls.from_json(domain, form)

    def __len__(self) -> int:
        return len(self.cliques)

    def weights_of(self, cliques: Iterable[Clique]) -> dict[Clique, float]:
        """The weights of some of its cliques."""
        weights = dict(zip(self.cliques, self.weights, strict=True))
        return {clique: weights[clique] for clique in cliques}

    def refined(self, domain: Domain, maxsize: int) -> Workload:
        """The cliques of at most `maxsize` cells, with their weights.

        Raises:
            DataError: none is left.
        """
        kept = [place for place, clique in enumerate(self.cliques) if domain.cells(clique) <= maxsize]
        if not kept:
            raise DataError(
                f"every clique of the workload has more than {maxsize} cells; raise the limit, name smaller "
                "cliques or declare fewer bins"
            )
        return Workload(tuple(self.cliques[p] for p in kept), tuple(self.weights[p] for p in kept))

    def closed(self) -> Workload:
        """The downward closure: all non-empty subsets of the cliques, smallest first, with `overlap_weights`.

        Source: AIM, section 4.2.
        """
        parts = chain.from_iterable(
            combinations(clique, k) for clique in self.cliques for k in range(1, len(clique) + 1)
        )
        cliques = tuple(sorted(dict.fromkeys(parts), key=len))
        return Workload(cliques, self.overlap_weights(cliques))

    def overlap_weights(self, cliques: Sequence[Clique] | None = None) -> tuple[float, ...]:
        """w_r = sum over s in W of c_s |r ∩ s|, for each clique r of the workload, or of those given.

        Source: RandDPGen, Algorithm 2, line 4; AIM, Algorithm 4.
        """
        wanted = self.cliques if cliques is None else cliques
        places = {
            name: place for place, name in enumerate(sorted(set(chain(*self.cliques)) | set(chain(*wanted))))
        }
        of_attributes = _incidence(self.cliques, places).T @ np.array(self.weights)
        return tuple((_incidence(wanted, places) @ of_attributes).tolist())

    def error(self, real: Table, synthetic: Table) -> float:
        """The workload error: 1 / (k |D|) times the sum over the k cliques of c_i ||M_i(D) - M_i(D̂)||_1.

        If the numbers of records differ, the synthetic marginals are scaled to |D| first.

        Source: RandDPGen, Definition 3.2.

        Raises:
            DataError: the tables have different domains, or one has no record.
        """
        check_comparable(real, synthetic)
        scale = real.total / synthetic.total
        distance = sum(
            weight * float(np.abs(counts - scale * other).sum())
            for weight, (counts, other) in zip(
                self.weights, counted_in_both(real, synthetic, self.cliques), strict=True
            )
        )
        return distance / (len(self.cliques) * real.total)


def _singles(domain: Domain) -> tuple[Clique, ...]:
    return tuple((name,) for name in domain)


def _incidence(cliques: Sequence[Clique], places: Mapping[str, int]) -> NDArray[np.float64]:
    """1 where a clique has an attribute, else 0; shape (cliques, attributes)."""
    incidence = np.zeros((len(cliques), len(places)))
    for row, clique in enumerate(cliques):
        incidence[row, [places[name] for name in clique]] = 1
    return incidence


def _entry(form: object) -> tuple[list[str], float]:
    names, weight = (
        (form["clique"], form["weight"])
        if isinstance(form, Mapping) and set(form) == {"clique", "weight"}
        else (form, 1)
    )
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError(
            'an entry of a workload is a list of names or {"clique": [names], "weight": w}; fix the workload'
        )
    if not isinstance(weight, (int, float)) or isinstance(weight, bool):
        raise DataError(f"the weight of the clique {', '.join(names)} is not a number; fix the workload")
    return names, float(weight)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
