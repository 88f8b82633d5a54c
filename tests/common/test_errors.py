"""Errors name pages of the documentation that exist."""

from pathlib import Path

import pytest

from dpmosaic import command
from dpmosaic.common import errors

ROOT = Path(__file__).parent.parent.parent
KINDS = [
    one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.MosaicError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_of_an_error_exists(kind):
    assert kind.page == "" or (ROOT / kind.page).is_file()


@pytest.mark.parametrize(
    ("kind", "told"),
    [(errors.BudgetError, "error: no\nmore: docs/choosing.md\n"), (errors.DataError, "error: no\n")],
)
def test_the_command_names_the_page_after_the_sentence(kind, told, monkeypatch, capsys):
    def fail():
        raise kind("no")

    monkeypatch.setattr(command, "app", fail)
    monkeypatch.setattr(command.gc, "set_threshold", lambda number: None)
    monkeypatch.setattr(command.warnings, "showwarning", None)
    monkeypatch.setattr(command.sys, "argv", ["dpmosaic", "mechanisms"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == told
