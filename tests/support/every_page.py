"""Every page that the product writes, of small tables: for tests that look at them, and pictures of them.

The tables are of people in `support.attacked`, and of patients with stays.
"""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.data.domain import Domain
from dpmosaic.curator.dossier.institution import Institution
from dpmosaic.curator.dossier.subject import Subject
from dpmosaic.curator.dossier.writing import write_dossier
from dpmosaic.curator.report.comparison import ByProtocol
from dpmosaic.curator.report.page import evaluation_report
from dpmosaic.simulations.evaluation.evaluation import evaluate
from dpmosaic.simulations.evaluation.tables import comparison
from dpmosaic.simulations.tables.frames import load
from support import attacked

DOCS = Path(__file__).resolve().parents[2] / "docs"
MEANINGS = {
    "trusted": "one trusted place sees all rows",
    "masked": "no party sees rows of another, the curator sees only noisy sums",
    "indicator": "no role is trusted",
}
DOCUMENTS = ("data-card", "nist-sp-800-226", "impact-assessment", "record-of-processing")


def written(folder):
    """Writes the pages into a folder.

    Returns:
        The path of each page, by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        # The ledgers of these tables are not the user's.
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
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
    real.to_csv(folder / "real.csv", index=False)
    paths = {name: folder / f"{name}.html" for name in ("evaluation", "attack")}
    asked = ["evaluate", folder / "real.csv", folder / "release", "--target", "ill"]
    done = CliRunner().invoke(app, [*map(str, asked), "--report", str(paths["evaluation"])])
    assert done.exit_code == 0, done.output
    release.attack(real, held_out).save(paths["attack"])
    paths["report"] = folder / "release" / "report.html"
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
    """The page of the demo, of another table and a mechanism that takes little time."""
    real = load(attacked.people(1)[0], Domain.from_json(attacked.DOMAIN)).table
    lines = []
    for protocol in ("trusted", "masked", "indicator"):
        made = dpmosaic.simulate(real, epsilon=1.0, grid="2x2", protocol=protocol, mechanism="independent")
        found = evaluate(real, made.rows)
        error = next(one.total_variation for one in found.kway if one.k == 2)
        lines.append(ByProtocol(protocol, "independent", MEANINGS[protocol], error))
        if protocol == "masked":
            shown, compared = made, comparison(found, real)
    page = evaluation_report(shown.rows, replace(compared, protocols=tuple(lines)), shown.certificate)
    (folder / "demo.html").write_text(page, encoding="utf-8")
    return folder / "demo.html"


def _epsilon(folder):
    spec = importlib.util.spec_from_file_location("epsilon_page", DOCS / "epsilon_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(folder / "epsilon.html")
    return folder / "epsilon.html"
