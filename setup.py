"""Maps the folders at the top of the repository under the import namespace `dpmosaic`."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("common", "party", "curator", "simulations", "synthesis")
ROOT_MODULES = ("__init__", "__main__", "command", "testing")


class ShipRootModules(build_py):
    """Of the Python files at the repository's root, ships the product's alone."""

    def find_package_modules(self, package, package_dir):
        """Returns (package, module, path) of every module that is part of the product."""
        modules = super().find_package_modules(package, package_dir)
        return [found for found in modules if package != "dpmosaic" or found[1] in ROOT_MODULES]


setup(
    packages=["dpmosaic"]
    + [
        f"dpmosaic.{package}"
        for folder in FOLDERS
        for package in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))
    ],
    package_dir={"dpmosaic": "."},
    # Files that are not modules: a new kind needs a new pattern here, and tests/test_packaging.py says so.
    package_data={
        "": ["*.pyi"],
        "dpmosaic": ["py.typed"],
        "dpmosaic.common.console": [f"templates/*.{kind}" for kind in ("html", "css", "js", "svg")],
        "dpmosaic.party.console": ["templates/*.html"],
        "dpmosaic.curator.console": ["templates/*.html"],
        "dpmosaic.curator.dossier": [f"templates/*.{kind}" for kind in ("html", "js", "md", "yaml")],
        "dpmosaic.curator.report": ["templates/*.html", "templates/*.css"],
        "dpmosaic.simulations.experiments": [f"templates/*.{kind}" for kind in ("html", "css", "svg", "xml")],
    },
    include_package_data=False,
    cmdclass={"build_py": ShipRootModules},
)
