"""The content of the wheel, and an install without the extras."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("common", "party", "curator", "simulations", "synthesis")
ROOT_FILES = ("__init__.py", "__main__.py", "command.py", "py.typed", "testing.py")

OPTIONAL_MODULES = {
    "dp-accounting": "dp_accounting",
    "jinja2": "jinja2",
    "distributed": "distributed",
    "adbc-driver-manager": "adbc_driver_manager",
    "psycopg[binary]": "psycopg",
    "pyspark": "pyspark",
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "numba": "numba",
    "opacus": "opacus",
    "openpyxl": "openpyxl",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "pyjwt": "jwt",
    "pynacl": "nacl",
    "pyreadstat": "pyreadstat",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "statsmodels": "statsmodels",
    "torch": "torch",
    "prometheus-client": "prometheus_client",
    "starlette": "starlette",
    "uvicorn": "uvicorn",
}

EXTRAS = (
    "curator",
    "eval",
    "demo",
    "gan",
    "metrics",
    "ddh",
    "postgres",
    "spark",
    "adbc",
    "cluster",
    "console",
    "sso",
    "files",
    "plot",
)

OF_PACKAGES = {
    *(f"dpmosaic.party.counting.engines.{name}" for name in ("postgres", "spark", "adbc")),
    "dpmosaic.common.processes.cluster",
    *(f"dpmosaic.common.files.{name}" for name in ("excel", "feather", "surveys", "unpacking")),
    "dpmosaic.curator.results.survey_files",
}
"""Modules that need the extra of an engine, of a cluster, or of other files."""

OF_CONSOLES = {
    "dpmosaic.common.showing.templates",
    *(
        f"dpmosaic.common.console.{name}"
        for name in (
            "client_certificates",
            "connections",
            "doors",
            "gate",
            "guard",
            "id_token",
            "openid",
            "serving",
        )
    ),
    *(f"dpmosaic.common.console.{name}" for name in ("sessions", "signing_in", "site", "tls")),
    *(f"dpmosaic.party.console.{name}" for name in ("network", "pages")),
}
"""Modules that only consoles and pages import."""

OF_GAN = {
    f"dpmosaic.curator.mechanisms.dp_gan.{name}"
    for name in ("model", "networks", "private_optimizer", "training")
}
"""Modules that need the extra `gan`, which test environments may lack."""

HIDE_OPTIONAL_MODULES = f"""
import sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(OPTIONAL_MODULES.values())}:
            return None
        return super().find_spec(name, path, target)

sys.meta_path = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""


def run(*command: str | Path, cwd: Path) -> str:
    """The standard output of a command; its standard error is the failure's text."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed\n{done.stdout}\n{done.stderr}"
    return done.stdout


def shipped_files() -> set[str]:
    """Every file of the product, as its path below `dpmosaic/`."""
    in_folders = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    return in_folders | set(ROOT_FILES)


def modules_of(files: set[str]) -> list[str]:
    """Import names of the Python files among these."""
    names = {
        f"dpmosaic/{file}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for file in files
        if file.endswith(".py")
    }
    return sorted(names)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that earlier builds do not enter and the checkout stays clean."""
    copy = tmp_path_factory.mktemp("checkout") / "a name that is no package"
    # Hidden files among them: other tests write into caches while these are copied.
    unwanted = shutil.ignore_patterns(".*", "build", "dist", "out", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=unwanted)
    (copy / "conftest.py").write_text("")
    (copy / "scratch.py").write_text("")
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, cwd=copy)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def fresh_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with the wheel, which also sees the packages of this environment."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=folder,
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "zz_behind.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_holds_the_four_folders_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {f"dpmosaic/{file}" for file in shipped_files()}


def test_the_wheel_is_one_for_all_systems(wheel):
    assert wheel.stem.endswith("-py3-none-any")


def test_the_wheel_carries_its_licence_and_the_command(wheel):
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    assert "Apache License" in archive.read(f"{info}/licenses/LICENSE").decode()
    assert "dpmosaic = dpmosaic.command:main" in archive.read(f"{info}/entry_points.txt").decode()


def test_every_module_of_the_wheel_imports_from_the_wheel(wheel, fresh_python):
    files = {name.removeprefix("dpmosaic/") for name in zipfile.ZipFile(wheel).namelist()}
    modules = modules_of({file for file in files if ".dist-info/" not in file})
    assert {"dpmosaic", "dpmosaic.command", "dpmosaic.party.serving.servicer", *OF_GAN} <= set(modules)
    if not all(find_spec(module) for module in ("torch", "opacus")):
        modules = [name for name in modules if name not in OF_GAN]
    if not all(
        find_spec(module)
        for module in ("psycopg", "pyspark", "adbc_driver_manager", "distributed", "pyreadstat")
    ):
        modules = [name for name in modules if name not in OF_PACKAGES | OF_CONSOLES]
    code = f"import importlib\nfor name in {modules}:\n    print(importlib.import_module(name).__file__)"
    # Isolated: PYTHONPATH may name a checkout.
    origins = run(fresh_python, "-I", "-c", code, cwd=fresh_python.parent).split("\n")[:-1]
    assert len(origins) == len(modules)
    assert {origin for origin in origins if not origin.startswith(str(fresh_python.parent.parent))} == set()


@pytest.mark.slow
def test_a_commit_builds_to_the_same_bytes_in_every_folder_at_every_time(tmp_path):
    built = {}
    for name, umask, zone in (("one", 0o022, "UTC"), ("other", 0o077, "Asia/Tokyo")):
        run("git", "clone", "--quiet", ROOT, tmp_path / name, cwd=tmp_path)
        environment = {**os.environ, "PYTHON": sys.executable, "TZ": zone}
        command = ["scripts/build", tmp_path / name / "dist"]
        subprocess.run(
            command, cwd=tmp_path / name, env=environment, umask=umask, check=True, capture_output=True
        )
        built[name] = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (tmp_path / name / "dist").iterdir()
        }
        time.sleep(1.1)  # Times in archives have seconds.
    assert built["one"] == built["other"]
    assert {Path(name).suffix for name in built["one"]} == {".gz", ".whl"}


def test_the_wheel_installs_the_command(fresh_python):
    import dpmosaic

    assert run(fresh_python.parent / "dpmosaic", "--version", cwd=fresh_python.parent) == (
        f"{dpmosaic.__version__}\n"
    )


def test_the_tests_hide_every_optional_dependency():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = [name for extra in EXTRAS for name in extras[extra]]
    names = {name.partition(">=")[0] for name in wanted if not name.startswith("dpmosaic")}
    assert names == set(OPTIONAL_MODULES)


def test_a_party_and_the_command_import_without_the_extras(tmp_path):
    everyone = modules_of({file for file in shipped_files() if file.startswith(("common/", "party/"))})
    everyone = [name for name in everyone if name not in OF_PACKAGES | OF_CONSOLES]
    code = f"import importlib\nfor name in {['dpmosaic', 'dpmosaic.command', *everyone]}:\n"
    run(
        sys.executable,
        "-c",
        f"{HIDE_OPTIONAL_MODULES}\n{code}    importlib.import_module(name)",
        cwd=tmp_path,
    )


def test_an_error_states_how_to_install_a_missing_extra(tmp_path):
    code = """
import dpmosaic
from dpmosaic.common.errors import MissingExtraError

assert dpmosaic.Domain
try:
    dpmosaic.simulate
except MissingExtraError as error:
    print(error)
"""
    message = run(sys.executable, "-c", HIDE_OPTIONAL_MODULES + code, cwd=tmp_path)
    assert "pip install 'dpmosaic[curator]'" in message
    assert "pandas" in message


def test_a_command_that_needs_an_extra_fails_with_one_sentence(tmp_path):
    code = f"{HIDE_OPTIONAL_MODULES}\nsys.argv = ['dpmosaic', 'demo']\nimport dpmosaic.command as c\nc.main()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'dpmosaic[" in done.stderr
