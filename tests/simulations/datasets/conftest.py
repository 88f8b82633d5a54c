import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    """Servers on this machine are not behind a proxy."""
    monkeypatch.setenv("no_proxy", "*")
