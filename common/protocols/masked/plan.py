"""Participants and other public facts, from which every role derives the same steps.

A marginal of a slice is a product over the parties that hold a part of its clique. A *chain* lists the parts
in the order of multiplication. The product of the first two parts is shared between two parties, its product
with the third part between three, and so on; only the last product is summed over records. Over aligned
parties, a chain may also contain the presence of parties (`presence`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ...data.domain import Clique
from ...data.grouping import last_code_apart
from ...data.view import View
from ...errors import DataError, ProtocolError
from ...privacy.cost import ROWS_PER_PERSON, WEIGHT_PARTS
from ...privacy.distributed import DistributedNoise
from ..aligned import Population
from ..arithmetic.ring import WIDE, Ring, Words
from ..indicator import divide
from ..partition import Participant, Partition
from ..registry import CHECK
from .columns import columns_of, groups_of, names_of, width
from .dealers import DealerEntry, check_collusions, check_dealers, dealers_wanted
from .presence import columns_in, presence, present_chain
from .sampling import MULTIPLIED_ROWS, Sampling

Chain = tuple[Clique, ...]
"""Parts of a clique in the order of multiplication, each held by another party of the slice; over aligned
parties, that of the last part may hold an earlier one too. A part names `columns`."""

MAX_OPENING_BYTES = 1 << 32
"""Largest matrix that a party opens: records times the cells of the parts multiplied so far. Dealt rows of a
ring of 32 bits have twice as many bytes (`sacrifice`)."""

OPENED_ROWS = 1 << 20
"""Rows of the indicators of one part that are opened at a time; a lost connection costs one such range."""

COMPONENT_BITS = 58
"""Bits of a component of an integer mask (`one_hot_integers`): what hides a bit by 2^-58 less than all."""

MOST_PARTIES_OF_PEOPLE = 4
"""Largest number of parties of a slice of people with all rows; each counts in 32 parts then."""

_MULTIPLIED_BYTES = 1 << 25
"""Memory of the rows that are multiplied at a time."""

_MAX_BLOCK_ROWS = 1 << 13
_MAX_RECTANGLE = 1 << 22


@dataclass(frozen=True)
class MaskedPlan(Partition):
    """Plan of a release, which all its parties sign.

    Attributes:
        tolerated: number of parties that may collude without weakening the privacy guarantee.
        ring: ring of the shares.
        evaluators: places of the three roles that compute scores from shares, evaluator 0 first (see
            `common/protocols/scores`); empty if there are no scores. Two of them together could see every
            marginal that is scored. Only evaluator 0 may be a dealer that is no party.
        dealers: who deals the randomness of slices of several parties: one, or three or more. A dealer may be
            a party, and deals for other slices then.
        check: "one-hot" if every opening of one part is proved to be one-hot (`one_hot`), and every other one
            to be the product of openings (`opened_rows`); else empty.
        sample: rows of the largest slice of several parties on which products between parties are computed
            (`sampling`), and the same share of every other slice; 0 for all rows.
        parts: parts of one person in which rows are counted (`PrivacyUnit.parts`). With more than one, a
            record is a person, and a party's row of a matrix is a vector (`parts_of`). Terms state it by
            their unit alone.
    """

    tolerated: int
    ring: Ring
    evaluators: tuple[int, ...] = ()
    dealers: tuple[DealerEntry, ...] = ()
    check: str = ""
    sample: int = 0
    parts: int = field(default=1, metadata={"follows": "the unit of the terms"})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_dealers()
        self._check_people()
        if self.sample and not 0 < self.sample < self._most_multiplied:
            raise DataError(
                "sample: expected fewer rows than the largest slice of several parties has, got another "
                "number; leave it out to use all rows"
            )
        if self.evaluators and (
            len(set(self.evaluators)) != 3
            or len(self.evaluators) != 3
            or not 0 <= self.evaluators[0] < len(self.participants)
            or not all(0 <= place < len(self.roster) for place in self.evaluators[1:])
            or self.tolerated > 1
        ):
            raise DataError(
                "a plan must name three evaluators or none, and none if more than one party may collude"
            )
        if self.check not in ("", CHECK):
            raise DataError(f"check: expected {CHECK!r} or none, got another; fix the plan")
        # Refuses a number of tolerated collusions that leaves no honest party.
        self.noise  # noqa: B018

    def _check_people(self) -> None:
        """Refuses what vectors of people do not have.

        Raises:
            DataError: the plan asks for it.
        """
        if self.parts not in (1, WEIGHT_PARTS):
            raise DataError(f"parts: expected 1 or {WEIGHT_PARTS}, got another number; fix the plan")
        if self.parts == 1:
            return
        if self.check and self.slice_count < len(self.roster):
            raise DataError(
                f"check: {CHECK!r} proves that a row is one-hot, and the row of a person with all rows is "
                f"not; leave it out, or plan a number of {ROWS_PER_PERSON}"
            )
        if self.sample:
            raise DataError("sample: expected all people of a plan of people with all rows; leave it out")
        if self.absent:
            raise DataError(
                'population: expected "everywhere" for people with all rows, got "anywhere"; change it'
            )
        if any(len(entries) > MOST_PARTIES_OF_PEOPLE for entries in self.slices):
            raise DataError(
                f"expected at most {MOST_PARTIES_OF_PEOPLE} parties in a slice of people with all rows, got "
                "more, for whose products a person has too few parts; let fewer parties take part in it"
            )

    def _check_dealers(self) -> None:
        names = [dealer.name for dealer in self.dealers]
        slices = [[entry.name for entry in entries] for entries in self.slices]
        check_dealers(names, slices)
        check_collusions(names, slices, self.tolerated)
        parties = {entry.name: entry.identity for entry in self.roster}
        if any(parties.get(dealer.name, dealer.identity) != dealer.identity for dealer in self.dealers):
            raise DataError("dealers: expected dealers that are parties with their identities, got another")

    @cached_property
    def participants(self) -> tuple[Participant, ...]:
        """All that take part, by their places in the plan: the parties, then the dealers that are none."""
        parties = {entry.name for entry in self.roster}
        return (*self.roster, *(dealer for dealer in self.dealers if dealer.name not in parties))

    @property
    def options(self) -> Mapping[str, Any]:
        """See `Partition.options`."""
        return {
            **super().options,
            "collusions": self.tolerated,
            "check": self.check,
            "sample": self.sample or None,
        }

    @property
    def evaluator_names(self) -> tuple[str, ...]:
        """Names of the evaluators, evaluator 0 first."""
        return tuple(self.participants[place].name for place in self.evaluators)

    @cached_property
    def _dealing(self) -> tuple[tuple[int, ...], ...]:
        """For each slice, the places of its dealers."""
        places = {participant.name: place for place, participant in enumerate(self.participants)}
        return tuple(
            tuple(place for place in (places[d.name] for d in self.dealers) if place not in members)[
                : dealers_wanted(len(self.dealers))
            ]
            for members in (self.members(number) for number in range(self.slice_count))
        )

    def dealers_of(self, number: int) -> tuple[int, ...]:
        """Places of the dealers of a slice: the first one or three that are no party of it."""
        return self._dealing[number]

    @cached_property
    def noise(self) -> DistributedNoise:
        """The noise that all parties draw together."""
        parties = len(self.roster)
        return DistributedNoise(parties, self.tolerated, self.parts, parties - self.fewest_parties)

    @property
    def fewest_parties(self) -> int:
        """Number of parties whose answers are in every sum that is opened."""
        return len(self.roster)

    @cached_property
    def parts_of(self) -> tuple[int, ...]:
        """In how many parts each party counts a person, so that the product over a slice has no more.

        One that knows of related tables nothing below the people has one row of each.
        """
        related = self.related
        below = frozenset(self.domain.names) if related is None else related.below_people
        several = [not below.isdisjoint(entry.attributes) for entry in self.roster]
        dividing = [max(1, sum(several[p] for p in self.members(k))) for k in range(self.slice_count)]
        bits = self.parts.bit_length() - 1
        return tuple(
            1 << bits // dividing[entry.slice] if more else 1
            for entry, more in zip(self.roster, several, strict=True)
        )

    def scale(self, chain: Chain, number: int) -> int:
        """What a product of these parts is multiplied by to be in `parts`.

        Args:
            chain: its parts, each of another party.
            number: of the slice.
        """
        return int(self.parts // math.prod(self.parts_of[place] for place in self.holders(chain, number)))

    @cached_property
    def _feasible(self) -> dict[View, bool]:
        """Cache of `feasible`: selection repeats the same cliques."""
        return {}

    @cached_property
    def _holder(self) -> dict[tuple[int, str], int]:
        """Index in the roster of the party that holds an attribute in a slice."""
        entries = enumerate(self.roster)
        return {(entry.slice, name): place for place, entry in entries for name in entry.attributes}

    @cached_property
    def _presences(self) -> dict[int, dict[Clique, int]]:
        """For each slice of several aligned parties, the index in the roster by presence."""
        if self.alignment is None or self.absent:
            return {}
        slices = ((number, self.members(number)) for number in range(self.slice_count))
        return {
            number: {presence(self.roster[place].name): place for place in members}
            for number, members in slices
            if len(members) > 1
        }

    @property
    def empty_rows(self) -> bool:
        """Whether a party's matrices have rows of zeros, for people of whom it has no row."""
        return self.alignment is not None and not self.absent

    @property
    def absent(self) -> bool:
        """Whether the last value of every attribute is `absent`, so that shares of the last cell are zero."""
        return self.alignment is not None and self.alignment.population is Population.ANYWHERE

    def absent_count(self, clique: Clique) -> int:
        """Noisy number of people, of all slices, whom no party that holds a part of the clique has."""
        if self.alignment is None:
            return 0
        total = 0
        for number, entries in enumerate(self.slices):
            holding = (1 << j for j, entry in enumerate(entries) if set(entry.attributes) & set(clique))
            total += self.alignment.absent(number, sum(holding))
        return total

    def presences(self, number: int) -> dict[Clique, int]:
        """The presence of each party of a slice that chains may contain -> its index in the roster."""
        return self._presences.get(number, {})

    def check_view(self, view: View) -> None:
        """Refuses groups and boxes that do not fit.

        Raises:
            DataError: see `View.check`; or `absent` is not the last group, alone, although the
                last cell of a marginal has to be the people for whom all attributes are absent.
        """
        view.check(self.domain)
        if self.absent and not all(map(last_code_apart, view.groups)):
            raise DataError(
                "groups: over these aligned parties expected the last code, `absent`, as the last group, "
                "alone; set it apart"
            )

    def chain(self, view: View, number: int) -> Chain:
        """The parts of a view's cells in a slice, in the order of multiplication.

        Two parts are in roster order, so that products of the same two parties are computed together. More
        are sorted by their cells, since every product but the last has records times cells entries.

        Args:
            view: whose cells are counted.
            number: of the slice.
        """
        members = self.members(number)
        column = dict(zip(view.clique, self.columns(view), strict=True))
        held = divide(view.clique, [self.roster[i].attributes for i in members])
        parts = {j: tuple(column[name] for name in part) for j, part in held.items()}
        if parts and self.presences(number):
            others = [self.roster[place].name for j, place in enumerate(members) if j not in parts]
            # The rows of a person in a part are no product of those in its columns.
            return present_chain(self.domain, tuple(parts.values()), others, divided=self.parts == 1)
        if len(parts) > 2:
            return tuple(sorted(parts.values(), key=lambda part: self.cells((part,))))
        return tuple(parts.values())

    @property
    def by_length(self) -> bool:
        """Whether rows of people weigh by length where they need not add up; see `RelatedPart`."""
        return self.related is not None and self.related.by_length

    def adds_up(self, view: View) -> bool:
        """Whether no record counts more than once in all cells of a view together."""
        return view.adds_up or not self.by_length

    def columns(self, view: View) -> Clique:
        """The column of each attribute of a view, by whose weights its cells are counted."""
        if self.related is None or not (self.by_length and view.adds_up):
            return columns_of(view)
        return columns_of(view, self.related.below_people)

    def holders(self, chain: Chain, number: int) -> tuple[int, ...]:
        """Indices in the roster of the parties that hold the parts of a chain."""
        presences = self.presences(number)
        return tuple(
            presences[part] if part in presences else self._holder[number, names_of(part[:1])[0]]
            for part in chain
        )

    def openers(self, chain: Chain, number: int) -> tuple[int, ...]:
        """Indices in the roster of the parties that open their shares to the holder of the last part.

        These are the holders of the parts before it, without itself.
        """
        *others, last = self.holders(chain, number)
        return tuple(place for place in others if place != last)

    def check_chain(self, chain: Chain, number: int, *, parts: int = 1, summed: bool = False) -> None:
        """Refuses what is no chain of a slice, and one with too few parts.

        Only in a chain whose product is summed over records, the holder of the last part may hold another.

        Raises:
            ProtocolError: it is not such a chain.
        """
        presences = self.presences(number)
        columns = tuple(column for part in chain if part not in presences for column in part)
        names = names_of(columns)
        if (
            len(chain) < parts
            or not all(chain)
            or len(set(names)) < len(names)
            or not set(self.domain.names).issuperset(names)
        ):
            raise ProtocolError(
                f"expected at least {parts} parts, of attributes of the plan, each once; compare the plan"
            )
        try:
            self.check_view(View(names, groups_of(columns)))
        except DataError as cause:
            raise ProtocolError(f"expected groups that fit the plan: {cause}") from None
        holders = self.holders(chain, number)
        for part, place in zip(chain, holders, strict=True):
            if part in presences:
                continue
            asked = names_of(part)
            if asked != tuple(name for name in self.roster[place].attributes if name in asked):
                raise ProtocolError("expected parts in domain order, each of one party; compare the plan")
        divided = summed and bool(presences) and len(set(holders)) > 1
        once = holders[:-1] if divided else holders
        if len(set(once)) < len(once):
            raise ProtocolError("expected one part of each party; compare the plan")

    def cells(self, chain: Chain) -> int:
        """Number of columns of the product of these parts."""
        return math.prod(width(self.domain, column) for part in chain for column in columns_in(part))

    @cached_property
    def sampling(self) -> Sampling | None:
        """How many rows of each slice products use; None if they use all."""
        if not self.sample:
            return None
        records = tuple(map(self.records, range(self.slice_count)))
        most = self._most_multiplied
        return Sampling(records, tuple(max(1, n * self.sample // most) if n else 0 for n in records))

    def with_sample(self, rows: int | None) -> MaskedPlan:
        """The plan with a sample of so many rows of the largest slice of several parties.

        Args:
            rows: None for at most `MULTIPLIED_ROWS`, and for all people with all rows; as many as that slice
                has, or more, are all rows.
        """
        if rows is None and self.parts > 1:
            return self
        wanted = MULTIPLIED_ROWS if rows is None else rows
        return replace(self, sample=wanted if wanted < self._most_multiplied else 0)

    @property
    def _most_multiplied(self) -> int:
        """Rows of the largest slice of several parties; 0 if there is none."""
        slices = range(self.slice_count)
        return max((self.records(k) for k in slices if len(self.members(k)) > 1), default=0)

    def is_sampled(self, clique: Clique) -> bool:
        """Whether sampled rows answer for this clique, in all slices: in some slice it needs a product."""
        if not self.sample:
            return False
        return any(len(self.chain(View(clique), number)) > 1 for number in range(self.slice_count))

    def opened_records(self, number: int) -> int:
        """Number of rows of a slice that are opened and multiplied."""
        return self.records(number) if self.sampling is None else self.sampling.sampled[number]

    def opened_range(self, chain: Chain, number: int, place: int) -> range:
        """The rows of one range of an opening; only openings of one part have several.

        Args:
            chain: chain of the opened matrix.
            number: of the slice.
            place: number of the range.

        Raises:
            ProtocolError: there is no such range.
        """
        if not 0 <= place < self.opened_ranges(chain, number):
            raise ProtocolError("expected a range of the rows of the slice, got another; compare the plan")
        records = self.opened_records(number)
        if len(chain) > 1:
            return range(records)
        return range(place * OPENED_ROWS, min((place + 1) * OPENED_ROWS, records))

    def opened_ranges(self, chain: Chain, number: int) -> int:
        """Number of ranges of an opening."""
        return 1 if len(chain) > 1 else max(1, -(-self.opened_records(number) // OPENED_ROWS))

    def opened_ring(self, chain: Chain) -> Ring:
        """The ring of the words that are opened of the row-wise product of these parts."""
        return WIDE if self.integer_masks or (self.check and len(chain) > 1) else self.ring

    @property
    def integer_masks(self) -> bool:
        """Whether masks of one part are integers that do not wrap around, for the check of openings."""
        return bool(self.check) and (self.ring == WIDE or dealers_wanted(len(self.dealers)) > 1)

    def opening_bytes(self, chain: Chain, number: int) -> int:
        """Bytes of an opening of the row-wise product of these parts."""
        return self.opened_records(number) * self.cells(chain) * self.opened_ring(chain).word_bytes

    def multiplied(self, view: View) -> dict[Hashable, int]:
        """What parties open to multiply the columns of this view row by row.

        Returns:
            The words of each matrix, by its chain and slice; views share those with equal keys. Empty if
            each slice has the clique at one party.
        """
        return {
            (opened, number): self.opened_records(number) * self.cells(opened)
            for number in range(self.slice_count)
            for opened in _opened_chains(self.chain(view, number))
        }

    def feasible(self, view: View) -> bool:
        """Whether no slice needs an opening for this view that is too large."""
        if view not in self._feasible:
            self._feasible[view] = all(
                self.opening_bytes(opened, number) <= MAX_OPENING_BYTES
                for number in range(self.slice_count)
                for opened in _opened_chains(self.chain(view, number))
            )
        return self._feasible[view]

    def largest(self, sigma: float, exact: int | None = None, interaction: Sequence[int] = ()) -> int:
        """Upper bound of the absolute noisy values at this scale, in units of 1/grid.

        Args:
            sigma: scale of the noise.
            exact: upper bound of the absolute exact values; that of counts if None.
            interaction: shape of the marginal if its differences are answered, each of which contains a
                record once and the noise of 2^k cells; else empty.
        """
        if exact is None:
            # What differences count of a vector of length one in 2^k cells.
            exact = self.record_count << (-(-len(interaction) // 2) if self.by_length else 0)
        return self.noise.grid(sigma) * exact + (self.noise.largest(sigma) << len(interaction))


def _opened_chains(chain: Chain) -> Iterator[Chain]:
    """The chains of the matrices that are opened to multiply the parts of a chain."""
    if len(chain) > 1:
        yield from ((part,) for part in chain)
        yield from (chain[:k] for k in range(2, len(chain)))


def labels(chain: Chain) -> list[str]:
    """The stream labels of a chain; different chains have different labels."""
    return [text for part in chain for text in (str(len(part)), *part)]


def block_rows(ring: Ring, cells: int) -> int:
    """Rows multiplied at a time, for matrices with so many columns in total; bounds every role's memory."""
    # A word and its float64 limbs.
    row_bytes = cells * (ring.word_bytes + ring.bits // 2)
    return max(1, min(_MULTIPLIED_BYTES // row_bytes, _MAX_BLOCK_ROWS))


def rectangles(plan: MaskedPlan, chains: Iterable[Chain]) -> list[tuple[list[Chain], list[Clique]]]:
    """Groups products into matrix products: every left factor of a group is multiplied by every right one.

    The rows of a group are read once for all of its products. The grouping does not change the results.

    Args:
        plan: plan of the release.
        chains: chains of one slice, each of two or more parts; the last part is the right factor.

    Returns:
        For each group its left factors (chains without the last part) and its right factors.
    """
    rights_of: dict[Chain, list[Clique]] = {}
    for chain in dict.fromkeys(chains):
        rights_of.setdefault(chain[:-1], []).append(chain[-1])
    groups: dict[tuple[Clique, ...], list[list[Chain]]] = {}
    for left, rights in rights_of.items():
        together = groups.setdefault(tuple(sorted(rights)), [[]])
        cells = sum(map(plan.cells, [*together[-1], left])) * sum(plan.cells((right,)) for right in rights)
        if together[-1] and cells > _MAX_RECTANGLE:
            together.append([])
        together[-1].append(left)
    return [(lefts, list(rights)) for rights, together in groups.items() for lefts in together]


def products_of(
    plan: MaskedPlan, lefts: Sequence[Chain], rights: Sequence[Clique], total: Words
) -> Iterator[tuple[Chain, Words]]:
    """Every product of a group, as blocks of the group's matrix product.

    Args:
        plan: plan of the release.
        lefts: left factors of the group.
        rights: right factors of the group.
        total: matrix product of the concatenated factors: shape (cells of lefts, cells of rights).

    Yields:
        A chain and its words, shape (cells,).
    """
    columns = spans([plan.cells((right,)) for right in rights])
    for left, at in zip(lefts, spans([plan.cells(left) for left in lefts]), strict=True):
        for right, across in zip(rights, columns, strict=True):
            yield (*left, right), total[at, across].ravel()


def spans(widths: Sequence[int]) -> list[slice]:
    """The columns of each of these blocks when they are concatenated."""
    ends = [sum(widths[: i + 1]) for i in range(len(widths))]
    return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
