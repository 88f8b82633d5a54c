"""Two releases as dossiers speak of them, and what their institutions say; written by hand.

`python tests/support/dossiers.py` writes the golden files anew, after their differences were read.
"""

from dataclasses import replace
from pathlib import Path

from dpmosaic.curator.dossier.institution import Institution
from dpmosaic.curator.dossier.subject import Column, DescribedTable, Member, Subject
from dpmosaic.curator.dossier.writing import PAGE, files

GOLDEN = Path(__file__).parents[1] / "curator" / "dossier" / "golden"

TWO_HOSPITALS = Subject(
    tables=(
        DescribedTable(
            "synthetic",
            "synthetic.csv",
            "a" * 64,
            5000,
            (
                Column("age", "integer", minimum="0", maximum="99", missing=True),
                Column("ward", "text", ("surgery", "ear | nose", "<other>")),
                Column("admitted", "date"),
                Column("smoker", "boolean"),
                Column("weight", "number", minimum="1.5", maximum="250"),
            ),
        ),
    ),
    private=True,
    labels=(),
    epsilon=1.0,
    delta=1e-9,
    zcdp_rho=None,
    epsilon_spent=0.998,
    adjacency="zero-out",
    adjacency_in_words="One record is replaced by one that counts in no cell.",
    unit="One record is one row of one slice.",
    guess=0.731,
    protocol="masked",
    trust="No party showed its records to another party.",
    collusion="The curator together with a party of a slice could read the records of its other parties.",
    mechanism="mosaic",
    steps=(("One-way marginals", 0.002), ("Last round", 0.014)),
    members=(Member("clinic-north", ("age", "ward"), 2500), Member("clinic-south", ("admitted",), 2500)),
    dealers=("curator",),
    observers=(("the public", "every party adds its noise", 0.7), ("the curator", "it deals", None)),
    signed=True,
    records="5000, which is public",
    worst=(("age × ward", 0.081), ("age × weight", 0.07)),
    confidence=0.95,
    created="2026-05-02T03:04:05+00:00",
    version="9.9.9",
    purpose="waiting times",
    contact="data-office@example.org",
    asked="2026-05-01",
    files={"synthetic.csv": "a" * 64, "model.npz": "b" * 64},
    digest="c" * 64,
)
HOSPITALS = Institution(
    {
        "dataset": {
            "title": "Waiting times of two hospitals",
            "description": "Stays in two hospitals, 2020 to 2025.",
            "url": "https://example.org/waiting",
            "publisher": "Hospitals of Example",
            "publisher_kind": "Nonprofit",
            "license": "https://creativecommons.org/licenses/by/4.0/",
            "published": "2026-06-01",
            "region": "Example",
            "sector": "Health",
            "use": "planning of wards",
        },
        "controllers": {"clinic-north": {"institution": "North Clinic, 1 Road", "officer": "N. N."}},
        "processing": {"legal_basis": "Art. 6 (1) e, Art. 9 (2) j GDPR", "advice": "in favour, 2026-04-01"},
        "health": {"population": "Adults of Example", "least_age": 18, "largest_age": 95},
    }
)
RELATED = replace(
    TWO_HOSPITALS,
    tables=(
        DescribedTable(
            "patients",
            "tables/patients.csv",
            "d" * 64,
            100,
            (Column("id", "key"), Column("sex", "text", ("f", "m"))),
            key="id",
        ),
        DescribedTable(
            "stays",
            "tables/stays.parquet",
            "e" * 64,
            250,
            (Column("id", "key"), Column("ward", "text", ("a", "b"), missing=True), Column("at", "datetime")),
            parent="patients",
            foreign="id",
        ),
    ),
    private=False,
    labels=("NOT A RELEASE: made with a known seed",),
    zcdp_rho=0.02,
    epsilon_spent=None,
    adjacency="add-remove",
    unit="One record is one person with all rows in all tables.",
    protocol="trusted",
    collusion="",
    members=(),
    dealers=(),
    observers=(),
    signed=False,
    worst=(),
    purpose="",
    contact="",
    asked="",
)
DOSSIERS = {"hospitals": (TWO_HOSPITALS, HOSPITALS), "related": (RELATED, Institution())}


def contents(name):
    """The files of a dossier without the page that verifies; of pages what is not style or version."""
    for file, content in files(*DOSSIERS[name]):
        if file.endswith(".html"):
            content = content[content.index("<header>") : content.index("</main>")]
        if file != PAGE:
            yield file, content


if __name__ == "__main__":
    for dossier in DOSSIERS:
        (GOLDEN / dossier).mkdir(parents=True, exist_ok=True)
        for file, content in contents(dossier):
            (GOLDEN / dossier / file).write_text(content, encoding="utf-8")
