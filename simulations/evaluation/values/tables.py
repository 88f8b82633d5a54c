"""Distances of values as tables, for a terminal and for a report; the worst come first."""

from __future__ import annotations

from ....curator.report.comparison import ScoreTable
from .distances import ValueDistances
from .number_distances import QUANTILES, NumberDistance

_BOTH = "Synthetic / real."


def value_tables(found: ValueDistances, count: int) -> list[ScoreTable]:
    """Tables of the values.

    Args:
        found: the distances.
        count: largest number of rows of each table.
    """
    tables = []
    if found.numbers:
        tables += [_numbers(found, count), _quantiles(found, count), _atoms(found, count)]
    if found.correlations:
        tables.append(_correlations(found, count))
    if found.coefficients:
        tables.append(_coefficients(found, count))
    return [*tables, _rows(found)]


def _numbers(found: ValueDistances, count: int) -> ScoreTable:
    return ScoreTable(
        "Numbers, the furthest first",
        ("attribute", "Kolmogorov", "Wasserstein", "mean", "deviation", "missing"),
        tuple(
            (
                one.name,
                f"{one.kolmogorov:.4f}",
                _number(one.wasserstein),
                _pair(one.synthetic.mean, one.real.mean),
                _pair(one.synthetic.deviation, one.real.deviation),
                f"{one.synthetic.missing:.4f} / {one.real.missing:.4f}",
            )
            for one in found.numbers[:count]
        ),
        f"{_BOTH} Kolmogorov: the largest difference of the shares of values up to some number. "
        "Wasserstein: in the unit of the values. Real values outside the bounds count as the domain says.",
    )


def _quantiles(found: ValueDistances, count: int) -> ScoreTable:
    def row(one: NumberDistance) -> tuple[str, ...]:
        both = zip(one.synthetic.quantiles, one.real.quantiles, strict=False)
        shown = tuple(_pair(*quantiles) for quantiles in both) or ("–",) * len(QUANTILES)
        return one.name, *shown, f"{_decimals(one.synthetic.decimals)} / {_decimals(one.real.decimals)}"

    return ScoreTable(
        "Quantiles and decimals",
        ("attribute", *(f"{100 * quantile:g} %" for quantile in QUANTILES), "decimals"),
        tuple(map(row, found.numbers[:count])),
        _BOTH,
    )


def _atoms(found: ValueDistances, count: int) -> ScoreTable:
    shares = [(f"{one.name} = {atom}", *both) for one in found.numbers for atom, both in one.atoms.items()]
    shares.sort(key=lambda share: -abs(share[1] - share[2]))
    return ScoreTable(
        "Zeros and other single values, the furthest first",
        ("value", "synthetic", "real"),
        tuple((name, f"{made:.4f}", f"{real:.4f}") for name, real, made in shares[:count]),
        "Shares of the records.",
    )


def _correlations(found: ValueDistances, count: int) -> ScoreTable:
    return ScoreTable(
        "Correlations, the furthest first",
        ("pair", "Pearson", "Spearman"),
        tuple(
            (" x ".join(one.pair), _text_of_both(one.pearson), _text_of_both(one.spearman))
            for one in found.correlations[:count]
        ),
        _BOTH,
    )


def _coefficients(found: ValueDistances, count: int) -> ScoreTable:
    return ScoreTable(
        f"Regression of {found.coefficients[0].outcome.partition('=')[0]}, the furthest first",
        ("outcome", "feature", "synthetic", "real"),
        tuple(
            (one.outcome, one.feature, f"{one.synthetic:+.3f}", f"{one.real:+.3f}")
            for one in found.coefficients[:count]
        ),
        "Coefficients: numbers in standard deviations, categories against the most common one.",
    )


def _rows(found: ValueDistances) -> ScoreTable:
    equal = found.equal_rows
    return ScoreTable(
        "Rows",
        ("rows", "synthetic", "real"),
        (
            ("equal to a real row set aside", f"{equal.synthetic:.4f}", f"{equal.expected:.4f}"),
            ("equal to any real row", f"{equal.all_real:.4f}", "–"),
            *((f"break {one.rule}", f"{one.synthetic:.4f}", f"{one.real:.4f}") for one in found.rules),
        ),
        "Shares of the rows. Many equal rows are no leak where real rows equal each other as often.",
    )


def _pair(synthetic: float | None, real: float | None) -> str:
    return f"{_number(synthetic)} / {_number(real)}"


def _text_of_both(both: tuple[float | None, float | None]) -> str:
    real, made = ("–" if one is None else f"{one:+.3f}" for one in both)
    return f"{made} / {real}"


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"


def _decimals(places: int | None) -> str:
    return "–" if places is None else str(places)
