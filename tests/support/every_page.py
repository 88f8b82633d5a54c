"""Every page that the product writes, of small tables: for tests that look at them, and pictures of them.

The tables are of people in `support.attacked`, and of patients with stays.
"""

import importlib.util
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

import dpmosaic
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.dossier.institution import Institution
from dpmosaic.curator.dossier.subject import Subject
from dpmosaic.curator.dossier.writing import write_dossier
from dpmosaic.curator.report.comparison import ByProtocol, Comparison
from dpmosaic.curator.report.page import evaluation_report
from support import attacked
from support.certificates import DOMAIN, certificate_form, rows

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = ("data-card", "nist-sp-800-226", "impact-assessment", "record-of-processing")


def written(folder):
    """Writes the pages into a folder.

    Returns:
        The path of each page, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return {
        **_of_one_table(folder),
        **_of_related_tables(folder),
        "demo": _demo(folder),
        "epsilon": _epsilon(folder),
    }


def _of_one_table(folder):
    real, held_out = attacked.people(1)
    release = attacked.honest(real)
    release.save(folder / "release")
    paths = {"report": folder / "release" / "report.html"}
    pages = {
        "evaluation": release.compare(real, target="ill"),
        "attack": release.attack(real, held_out),
    }
    for name, page in pages.items():
        paths[name] = folder / f"{name}.html"
        page.save(paths[name])
    write_dossier(Subject.load(folder / "release"), Institution(), folder / "dossier")
    return paths | {name: folder / "dossier" / f"{name}.html" for name in (*DOCUMENTS, "verify")}


def _of_related_tables(folder):
    rng = np.random.default_rng(1)
    tables = {
        "patients": pd.DataFrame({"id": range(2000), "sex": rng.choice(["f", "m"], 2000)}),
        "stays": pd.DataFrame(
            {"id": rng.integers(0, 2000, 5000), "ward": rng.choice(list("abc"), 5000, p=[0.5, 0.3, 0.2])}
        ),
    }
    domain = {"patients": {"sex": ["f", "m"]}, "stays": {"ward": ["a", "b", "c"]}}
    release = dpmosaic.synthesize(tables, epsilon=1.0, domain=domain, relations={"stays": {"id": "patients"}})
    release.save(folder / "related")
    dpmosaic.compare(tables, release).save(folder / "related-evaluation.html")
    return {
        "related": folder / "related" / "report.html",
        "related-evaluation": folder / "related-evaluation.html",
    }


def _demo(folder):
    """The page of the demo, of rows that were not released."""
    made, real = rows(300, 1), rows(500, 2)
    protocols = tuple(
        ByProtocol(name, "mosaic", "what each party shows, and to whom, in plain words", error)
        for name, error in (("trusted", 0.02), ("masked", 0.025), ("indicator", 0.07))
    )
    pairs = dict.fromkeys(combinations(DOMAIN.names, 2), 0.05)
    compared = Comparison(real, dict.fromkeys(DOMAIN.names, 0.1), pairs, (), protocols)
    page = evaluation_report(made, compared, Certificate.from_json(certificate_form()))
    (folder / "demo.html").write_text(page, encoding="utf-8")
    return folder / "demo.html"


def _epsilon(folder):
    spec = importlib.util.spec_from_file_location("epsilon_page", DOCS / "epsilon_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(folder / "epsilon.html")
    return folder / "epsilon.html"
