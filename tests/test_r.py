"""The R package: its own tests, the code of its vignette, and its version."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent.parent / "r"
needs_r = pytest.mark.skipif(
    shutil.which("Rscript") is None,
    reason="there is no R here; apt-get install r-base-core r-cran-jsonlite r-cran-mice r-cran-testthat",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs R code with the installed package, in an empty folder; what it prints."""
    library = tmp_path_factory.mktemp("library")
    quiet = {"check": True, "capture_output": True, "text": True}
    subprocess.run(["R", "CMD", "INSTALL", "--no-docs", f"--library={library}", PACKAGE], **quiet)
    command = Path(sys.executable).with_name("dpmosaic")

    def run(code):
        folder = tmp_path_factory.mktemp("here")
        head = f'.libPaths(c("{library}", .libPaths())); options(dpmosaic.command = "{command}")\n'
        (folder / "code.R").write_text(head + code)
        home = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        found = subprocess.run(
            ["Rscript", "code.R"], cwd=folder, env=home, capture_output=True, text=True, timeout=600
        )
        assert found.returncode == 0, found.stdout + found.stderr
        return found.stdout

    return run


@needs_r
def test_its_own_tests_pass(run):
    tests = PACKAGE / "tests" / "testthat"
    options = 'package = "dpmosaic", load_package = "installed", stop_on_failure = TRUE, reporter = "summary"'
    assert "DONE" in run(f'library(testthat); library(dpmosaic)\ntest_dir("{tests}", {options})\n')


@needs_r
def test_the_code_of_the_vignette_runs(run):
    text = (PACKAGE / "vignettes" / "dpmosaic.Rmd").read_text()
    said = run("\n".join(re.findall(r"```\{r\}\n(.*?)```", text, re.DOTALL)))
    assert "armold" in said
    assert "AVG(score)_low" in said


def test_every_name_it_exports_has_a_page_and_its_version_is_that_of_the_command():
    described = dict(re.findall(r"^(\w+): (.*)$", (PACKAGE / "DESCRIPTION").read_text(), re.MULTILINE))
    assert described["Version"] == version("dpmosaic")
    exported = re.findall(r"export\((\w+)\)", (PACKAGE / "NAMESPACE").read_text())
    pages = "".join(page.read_text() for page in (PACKAGE / "man").iterdir())
    assert all(f"\\alias{{{name}}}" in pages for name in exported)
