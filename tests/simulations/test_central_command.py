"""`dpmosaic simulate` with mechanisms that need the extra `gan`, with it and without."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from dpmosaic import Certificate, command

INSTALLED = all(find_spec(module) for module in ("torch", "opacus"))
TINY = ["--set", "epochs=0.2", "--set", "sample_rate=0.05", "--set", "hidden=8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    kinds = rng.choice(["x", "y"], 300)
    lines = [f"{kind},{rng.integers(0, 5) + 3 * (kind == 'x')}" for kind in kinds]
    (tmp_path / "data.csv").write_text("\n".join(["kind,number", *lines]))
    (tmp_path / "domain.json").write_text(json.dumps({"kind": ["x", "y"], "number": 8}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def simulate(monkeypatch, capsys):
    """Runs the command in this process, which has loaded PyTorch already: status, output, errors."""

    def run(*more):
        arguments = ["data.csv", "--domain", "domain.json", "--epsilon", "2", "--out", "out", *more]
        monkeypatch.setattr(sys, "argv", ["dpmosaic", "simulate", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.skipif(INSTALLED, reason="the extra 'gan' is installed")
@pytest.mark.parametrize("mechanism", ["dp-gan", "dp-select"])
def test_without_the_extra_one_sentence_states_what_to_install(simulate, folder, mechanism):
    status, message, error = simulate("--mechanism", mechanism)
    assert (status, message) == (1, "")
    assert error.count("error:") == 1
    assert "pip install 'dpmosaic[gan]'" in error


@pytest.mark.slow
@pytest.mark.gan
@pytest.mark.parametrize("mechanism", ["dp-gan", "dp-select"])
def test_the_certificate_covers_every_step_with_one_epsilon_and_one_delta(simulate, folder, mechanism):
    status, _, error = simulate("--protocol", "trusted", "--mechanism", mechanism, *TINY)
    assert status == 0, error
    certificate = json.loads((folder / "out/certificate.json").read_text())
    assert certificate["differentially_private"]
    assert Certificate.from_json(certificate).to_json() == certificate
    promise = certificate["promise"]
    assert (promise["epsilon"], promise["delta"], promise["spent_within_grant"]) == (2.0, 1e-9, True)
    assert 1 < promise["composition"]["epsilon_by_dp_accounting"] <= 2.0
    steps = ["one-way", "dp-gan"] if mechanism == "dp-gan" else ["one-way", "scores", "dp-gan", "selection"]
    assert list(promise["composition"]["epsilon_of_each_step_alone"]) == steps
    assert list(certificate["steps"]) == steps
    report = (folder / "out/report.html").read_text()
    assert all(step["title"] in report for step in certificate["plan"].get("steps", []))
    assert len((folder / "out/synthetic.csv").read_text().splitlines()) == 301


@pytest.mark.slow
@pytest.mark.gan
def test_every_output_of_the_paper_variant_is_labelled_as_not_private(simulate, folder):
    chosen = ["--protocol", "trusted", "--mechanism", "dp-select", "--variant", "paper", *TINY]
    status, printed, error = simulate(*chosen, "--json")
    assert status == 0, error
    message = json.loads(printed)
    assert not message["differentially_private"]
    texts = [
        *message["labels"],
        *message["metrics"]["labels"],
        *json.loads((folder / "out/certificate.json").read_text())["labels"],
        (folder / "out/NOT-FOR-RELEASE.txt").read_text(),
        (folder / "out/report.html").read_text(),
    ]
    assert len(texts) == 5
    assert all("NOT DIFFERENTIALLY PRIVATE" in text and "charges nothing" in text for text in texts)


@pytest.mark.gan
def test_refuses_the_default_protocol_and_names_the_one_to_use(simulate, folder):
    status, _, error = simulate("--mechanism", "dp-select")
    assert status == 1
    assert "use 'trusted'" in error
    assert not (folder / "out/synthetic.csv").exists()
