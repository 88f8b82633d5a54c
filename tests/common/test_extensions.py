"""Extensions of other packages by entry points: found by name, imported late, refused with a clear error."""

import sys

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.extensions import MECHANISMS, METRICS, extensions, origin


def test_a_package_adds_what_its_metadata_names(install):
    install("acme", "1.2", "def close(real, synthetic):\n    return {}\n", metrics="close = acme:close")
    found = extensions(METRICS, {})
    assert (found["close"].package, found["close"].version) == ("acme", "1.2")
    assert found["close"].load()(None, None) == {}
    assert "close" not in extensions(MECHANISMS, {})


def test_an_extension_is_imported_only_when_it_is_used(install):
    install("broken", "0.1", "raise RuntimeError('secret of the package')", metrics="bad = broken:x")
    found = extensions(METRICS, {})["bad"]
    assert "broken" not in sys.modules
    with pytest.raises(DataError, match=r"'bad' of the package broken 0.1 cannot be imported \(RuntimeError"):
        found.load()


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("x = acme:missing", None, "cannot be imported .AttributeError"),
        ("x = absent:y", None, "cannot be imported .ModuleNotFoundError"),
        ("x = acme:NUMBER", None, "expected something that can be called, got int"),
        ("x = acme:NUMBER", str, "expected str, got int"),
    ],
)
def test_a_missing_or_wrong_extension_is_refused_with_its_package(install, line, kind, message):
    install("acme", "1", "NUMBER = 3\n", metrics=line)
    with pytest.raises(DataError, match=message):
        extensions(METRICS, {})["x"].load(kind)


def test_another_package_cannot_use_a_built_in_name(install):
    install("acme", "1", "", mechanisms="mosaic = acme:x")
    with pytest.raises(DataError, match="'mosaic' comes from dpmosaic and from acme; remove one"):
        extensions(MECHANISMS, {"mosaic": None})


def test_two_packages_cannot_share_a_name(install):
    for package in ("acme", "zenith"):
        install(package, "1", "", mechanisms=f"ring = {package}:x")
    with pytest.raises(DataError, match="'ring' comes from"):
        extensions(MECHANISMS, {})


@pytest.mark.slow
def test_the_origin_of_a_value_is_the_distribution_of_its_class(install):
    install("acme", "2.0", "class Thing:\n    pass\n")
    import acme

    assert origin(acme.Thing()) == ("acme", "2.0")
    assert origin(DataError("ours")) is None


@pytest.mark.slow
def test_a_class_of_a_script_has_no_distribution():
    thing = type("Thing", (), {"__module__": "a_script"})()
    assert origin(thing) == ("a_script", "unknown")
