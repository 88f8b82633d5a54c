"""Maps the folders at the top of the repository under the import namespace `dpmosaic`."""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("common", "party", "curator", "simulations")


class ShipModulesOnly(build_py):
    """Leaves the build script itself out of the package that the repository's root is."""

    def find_package_modules(self, package, package_dir):
        """Returns (package, module, path) of every module that is part of the product."""
        modules = super().find_package_modules(package, package_dir)
        return [found for found in modules if found[1] not in ("setup", "conftest")]


setup(
    packages=["dpmosaic"]
    + [
        f"dpmosaic.{package}"
        for folder in FOLDERS
        for package in (folder, *(f"{folder}.{sub}" for sub in find_packages(folder)))
    ],
    package_dir={"dpmosaic": "."},
    package_data={"dpmosaic": ["py.typed"]},
    include_package_data=False,
    cmdclass={"build_py": ShipModulesOnly},
)
