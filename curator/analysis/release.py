"""A finished release as an object: its table, further rows, answers, and its files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import pandas as pd

from ...common.crypto.digests import sha256_of
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.files.writing import told_if_unwritable, write_text
from ...common.privacy.rounding import text_above
from ...common.showing.printable import printable
from ..certificates.certificate import Certificate
from ..certificates.verify import BINS, CERTIFICATE, WARNING
from ..mechanisms.parts.released import ReleasedModel
from ..report.distributions import Measured
from ..report.page import release_report
from ..report.promise import promise_of
from ..report.summary import release_summary
from ..results import outputs
from ..results.storage import TableStorage, storage_json
from ..results.table_format import TableFile
from .conditions import Where
from .published import Drawn, Published, named_choice

if TYPE_CHECKING:
    from ... import Attacks, ComparisonPage
    from .estimators.estimates import Estimates
    from .estimators.survival import SurvivalCurves
    from .hypotheses.result import TestResult
    from .plot import Plot
    from .queries.answer import Answer

_Numbers = TypeVar("_Numbers", "Answer", "Estimates", "SurvivalCurves", "TestResult")

_CSV = TableFile()

Names = str | Sequence[str]
"""Names of one or several columns."""


@dataclass(frozen=True)
class Page:
    """An HTML page, which a notebook shows.

    Attributes:
        html: the page.
    """

    html: str

    def save(self, path: str | Path) -> None:
        """Writes the page into a file.

        Raises:
            DataError: the file cannot be written.
        """
        write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Page of {len(self.html):,} characters; save(path) writes it"


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A finished release. Whatever is done with it costs no further budget.

    It holds nothing of the real table: what its methods give depends on the domain, on noisy answers and on
    how the columns were stored (`Storage`).

    Attributes:
        published: its parts.
    """

    published: Published

    @classmethod
    def of(cls, drawn: Drawn) -> Self:
        """A release that was made in this process."""
        return cls(Published.of(drawn))

    @cached_property
    def table(self) -> pd.DataFrame:
        """The synthetic table, with types and spellings as in the domain: see `storage.shown_frame`."""
        return self.published.shown(self.published.frame)

    @property
    def rows(self) -> Table:
        """The synthetic table as codes of `domain`."""
        return self.published.rows

    @property
    def certificate(self) -> Certificate:
        """What was promised and spent, with bounds on errors; public."""
        return self.published.certificate

    @property
    def model(self) -> ReleasedModel:
        """The model that rows come from."""
        return self.published.model

    @property
    def domain(self) -> Domain:
        """What the columns hold, with the bins and labels that the release chose."""
        return self.published.domain

    def generate(self, n: int, where: Where | None = None, seed: int | None = None) -> pd.DataFrame:
        """Further rows of the model, with the types of `table`.

        Args:
            n: number of rows.
            where: condition that all rows meet: name -> a value, a list of values, (low, high) of numbers or
                dates, None for a missing value, or (None, None) for any but a missing one; or a text such as
                "age=30..39,sex=F,income!=", see `conditions`.
            seed: makes the rows reproducible.

        Raises:
            DataError: a condition does not fit the domain, or no row can meet all of them.

        Example:
            >>> release.generate(3, where={"sex": "F"}, seed=1)["sex"].tolist()
            ['F', 'F', 'F']
        """
        from .drawing import generate_rows

        rows = generate_rows(self.published, n, where, seed)
        return self.published.shown(rows[list(self.published.order)])

    def query(self, text: str, level: float = 0.95, of: Literal["table", "population"] = "table") -> Answer:
        """Answers a query, with an interval for each number.

        Args:
            text: in SQL, such as "SELECT sex, avg(age) FROM release GROUP BY sex".
            level: probability that an interval covers the truth.
            of: whether intervals are for the real table, or the population that it is a sample of.

        Raises:
            DataError: the query cannot be read, or the release cannot answer it.

        Example:
            >>> release.query("SELECT sex, COUNT(*) AS n FROM release GROUP BY sex").frame["sex"].tolist()
            ['F', 'M']
            >>> low, high = release.query("SELECT SHARE(sex = 'F') FROM release").interval
            >>> low < 0.5 < high
            True
        """
        from .queries.answering import answer

        return self._with_labels(answer(self.published, text, level, of))

    def mean(
        self, column: str, where: Mapping[str, Any] | None = None, by: Names | None = None, **options: Any
    ) -> Estimates:
        """The mean of a column, with an interval: see `estimators.means.mean`.

        Example:
            >>> release.mean("age", by="sex").names
            ('sex=F', 'sex=M')
        """
        from .estimators.means import mean

        return self._with_labels(mean(self.published, column, where, by, **options))

    def proportion(
        self,
        column: str,
        value: Any,
        where: Mapping[str, Any] | None = None,
        by: Names | None = None,
        **options: Any,
    ) -> Estimates:
        """The share of rows with a value, with an interval: see `estimators.means.proportion`."""
        from .estimators.means import proportion

        return self._with_labels(proportion(self.published, column, value, where, by, **options))

    def difference(self, column: str, between: tuple[str, Any, Any], **options: Any) -> Estimates:
        """The difference of two groups' means or shares: see `estimators.means.difference`."""
        from .estimators.means import difference

        return self._with_labels(difference(self.published, column, between, **options))

    def linear(self, y: str, x: Sequence[str] | None = None, **options: Any) -> Estimates:
        """Linear regression with intervals of its coefficients: see `estimators.regression.linear`.

        Example:
            >>> len(release.linear("age ~ sex").frame)
            2
        """
        from .estimators.regression import linear

        return self._with_labels(linear(self.published, y, x, **options))

    def logistic(self, y: str, x: Sequence[str] | None = None, **options: Any) -> Estimates:
        """Logistic regression with intervals of its coefficients: see `estimators.regression.logistic`."""
        from .estimators.regression import logistic

        return self._with_labels(logistic(self.published, y, x, **options))

    def correlation(self, one: str, other: str, **options: Any) -> Estimates:
        """The correlation of two columns, with an interval: see `estimators.correlation.correlation`."""
        from .estimators.correlation import correlation

        return self._with_labels(correlation(self.published, one, other, **options))

    def survival(self, time: str, **options: Any) -> SurvivalCurves:
        """Curves of Kaplan and Meier with intervals and bands: see `estimators.survival.survival`."""
        from .estimators.survival import survival

        return self._with_labels(survival(self.published, time, **options))

    def test(self, name: str, *columns: Any, **options: Any) -> TestResult:
        """A test of a hypothesis about the population, with a p-value that counts the noise.

        | name | what follows it |
        |---|---|
        | "t", "mann-whitney" | "hours", between=("arm", "new", "old") |
        | "chi-square" | "education", "income" |
        | "log-rank" | "months", event=("status", "dead"), between=("arm", "new", "old") |
        | "coefficients" | "income ~ age + sex", term="sex", logistic=True |
        | "effect" | "score", between=("arm", "new", "old"), adjust=["age"], by="regression" or "weighting" |

        Args:
            name: of the test.
            columns: what it is about.
            options: groups and events, as above.

        Raises:
            DataError: an argument is missing, unknown, or does not fit the release.
        """
        from .hypotheses.tests import run_test

        return self._with_labels(run_test(self.published, name, *columns, **options))

    def infer(
        self, fn: Callable[[pd.DataFrame], Any], columns: Sequence[str] | None = None, **options: Any
    ) -> Estimates:
        """What a function of a table would return for the real one: see `estimators.jackknife.infer`."""
        from .estimators.jackknife import infer

        found = infer(self.published, lambda rows: fn(self.published.shown(rows)), columns, **options)
        return self._with_labels(found)

    def _with_labels(self, found: _Numbers) -> _Numbers:
        """Numbers with the labels of the release that they are of."""
        return replace(found, labels=self.certificate.labels)

    def copies(self, m: int, seed: int | None = None) -> list[pd.DataFrame]:
        """Tables that differ as the real one may differ from the release; `combine` puts results together.

        Args:
            m: number of copies, at least 2; 10 to 20 are usual.
            seed: makes them reproducible.

        Raises:
            DataError: there are too few, or the release has no noisy measurements.
        """
        from .copies import copies

        return [self.published.shown(rows) for rows in copies(self.published, m, seed)]

    def report(self) -> Page:
        """The report for readers: promise, budget, errors, distributions."""
        return Page(release_report(self.certificate, self.rows, self._margins))

    @property
    def _margins(self) -> Mapping[str, Measured]:
        """Shares of codes as they were measured."""
        return {} if self.published.evidence is None else self.published.evidence.margins

    def plot(self, columns: Sequence[str] | None = None) -> Plot:
        """A figure of columns with intervals, of the error bounds of pairs, and of correlations.

        Args:
            columns: those that are drawn; by default the first ones.

        Raises:
            DataError: there is no such column.
            MissingExtraError: matplotlib, of the extra "plot", is not installed.
        """
        from .plot import plot

        return plot(self.published, columns)

    def compare(self, real: Any, **options: Any) -> ComparisonPage:
        """A page, and a figure, of the release beside the real table: not for publication; see `compare`.

        Args:
            real: the table that was released: a data frame, or the path of a file.
            options: see `compare`.

        Raises:
            DataError: the rows do not fit the release.
        """
        from ... import compare

        return cast("ComparisonPage", compare(real, self, **options))

    def attack(self, real: Any, holdout: Any = None, **options: Any) -> Attacks:
        """Attacks the release with the real rows, as their owner can: not for publication; see `attack`.

        Args:
            real: the table that was released: a data frame, or the path of a file.
            holdout: other real rows, which chance left out of `real` and the release has not used.
            options: see `attack`.

        Raises:
            DataError: the rows do not fit the release, or it is of a kind that is not attacked.
        """
        from ... import attack

        return attack(real, self, holdout, **options)

    def save(self, folder: str | Path, table_file: TableFile | str = "csv") -> None:
        """Writes the release's folder, which every command reads: table, certificate, model, report.

        Args:
            folder: where; created if it is missing.
            table_file: "csv", "parquet", "feather", "xlsx", "sav", "dta" or "xpt", or a `TableFile`. A
                release that was loaded keeps its files.

        Raises:
            DataError: the folder holds a release already, or cannot be written.
        """
        folder = Path(folder)
        if isinstance(table_file, str):
            table_file = TableFile.of(table_file)
        outputs.check_folder(folder, [BINS])
        self.write(folder, table_file)

    def write(self, folder: Path, table_file: TableFile = _CSV) -> None:
        """Writes the files of `save` into a checked folder, in place of those of an earlier attempt.

        Raises:
            DataError: they cannot be written.
        """
        with told_if_unwritable(folder, "free space on its disk, or choose another folder"):
            if self.published.drawn is None:
                _copy(self.published, folder)
            else:
                write_drawn(self.published.drawn, folder, table_file)

    def __repr__(self) -> str:
        promise, labels = promise_of(self.certificate), self.certificate.labels
        labelled = "; not for release" if labels else ""
        size = f"{self._size} rows x {len(self.published.columns)} columns"
        name = self.certificate.plan.mechanism["name"]
        promised = f"epsilon={text_above(promise.epsilon, 6)}, delta={promise.delta:g}"
        return printable(f"Release({size}, {promised}, {name}{labelled})")

    def _repr_html_(self) -> str:
        return release_summary(self.certificate, self.rows, len(self.published.columns), self._margins)

    @property
    def _size(self) -> int:
        return self.rows.record_count


def write_drawn(
    drawn: Drawn, folder: Path, table_file: TableFile, watch: outputs.Watch = outputs.ignore_values
) -> None:
    """Writes the files of a release that was made in this process into a checked folder.

    Args:
        drawn: the release.
        folder: where.
        table_file: how its table is written.
        watch: called with the values of each block of rows, in several threads.
    """
    made = drawn.released
    written = outputs.write(
        folder,
        made.synthetic,
        drawn.rng,
        drawn.columns,
        made.certificate,
        made.fitted,
        table_file,
        watch,
        labels=drawn.storage.labels,
    )
    if drawn.storage != TableStorage():
        write_text(folder / outputs.STORAGE, storage_json(drawn.storage))
        written[outputs.STORAGE] = sha256_of(folder / outputs.STORAGE)
    if drawn.bins is not None:
        written |= outputs.write_choice(folder, drawn.bins, made.synthetic.domain)
    outputs.write_certificate(folder, made.certificate.with_outputs(written))


def load(folder: str | Path) -> Release:
    """Reads a release from the folder that `Release.save` or a command wrote.

    Raises:
        DataError: a file is missing, damaged, or has changed since the release.
    """
    return Release(Published.load(folder))


def _copy(published: Published, folder: Path) -> None:
    """Copies the certificate of a release, the files that it names, and those of the choice of bins."""
    if published.folder is None:
        raise ValueError("a release in memory has no files")
    names = [*published.certificate.outputs, *named_choice(published.folder, published.certificate)]
    if published.certificate.labels:
        write_text(folder / WARNING, outputs.warning_of(published.certificate))
    for name in (*names, CERTIFICATE):
        if (published.folder / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(published.folder / name, folder / name)
