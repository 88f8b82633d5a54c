"""The Adult table of the UCI Machine Learning Repository (Becker and Kohavi 1996, CC BY 4.0).

48,842 records of the US census of 1994: the repository's training part, then its test part. The domain
follows the published description: its categories, the ranges of its numbers, rounded, and the levels of
education, which two columns state.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from ...common.errors import DataError
from .download import Remote

_PLACE = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
PARTS = (
    Remote(
        f"{_PLACE}/adult.data",
        3_974_305,
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    Remote(
        f"{_PLACE}/adult.test",
        2_003_153,
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)

EDUCATION = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
    *("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)
"""The levels of education in the order of `education-num`, which counts them from 1."""

COLUMNS: dict[str, Any] = {
    "age": {"type": "numeric", "min": 17, "max": 90, "bins": 74, "integer": True},
    "workclass": [
        *("?", "Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "Self-emp-not-inc"),
        *("State-gov", "Without-pay"),
    ],
    "fnlwgt": {"type": "numeric", "min": 10000, "max": 1500000, "bins": 64, "integer": True, "scale": "log"},
    "education": {"type": "categorical", "categories": list(EDUCATION), "ordered": True},
    "education-num": {"type": "numeric", "min": 1, "max": 16, "bins": 16, "integer": True},
    "marital-status": [
        *("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married"),
        *("Separated", "Widowed"),
    ],
    "occupation": [
        *("?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing"),
        *("Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty"),
        *("Protective-serv", "Sales", "Tech-support", "Transport-moving"),
    ],
    "relationship": ["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"],
    "race": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"],
    "sex": ["Female", "Male"],
    # Most people have neither; 99,999 stands for all gains from there on.
    "capital-gain": {
        **{"type": "numeric", "min": 100, "max": 50000, "bins": 40, "integer": True},
        **{"scale": "log", "atoms": [0, 99999]},
    },
    "capital-loss": {"type": "numeric", "min": 100, "max": 5000, "bins": 98, "integer": True, "atoms": [0]},
    "hours-per-week": {"type": "numeric", "min": 1, "max": 99, "bins": 99, "integer": True},
    "native-country": [
        *("?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador"),
        *("El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti"),
        *("Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy"),
        *("Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru"),
        *("Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand"),
        *("Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"),
    ],
    "income": ["<=50K", ">50K"],
}

DOMAIN: dict[str, Any] = {
    "attributes": COLUMNS,
    "rules": [
        {
            "determines": {"from": "education", "to": "education-num"},
            "map": {level: number for number, level in enumerate(EDUCATION, start=1)},
        }
    ],
}


def join_parts(parts: list[str]) -> str:
    """Both parts as one CSV with a header.

    The repository's files have a blank after each comma, a comment line in the test part (it begins with |),
    a full stop after the test part's labels, and an empty line at the end of each part.

    Raises:
        DataError: a line has another number of cells.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for part in parts:
        for line in part.splitlines():
            if not line or line.startswith("|"):
                continue
            cells = line.rstrip(".").split(", ")
            if len(cells) != len(COLUMNS):
                raise DataError(
                    f"adult: expected {len(COLUMNS)} cells in every line; download the files again"
                )
            writer.writerow(cells)
    return text.getvalue()
