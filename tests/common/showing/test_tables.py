"""Tables for a terminal."""

import io

from dpmosaic.common.showing.tables import terminal_table
from dpmosaic.common.showing.terminal import Terminal


def shown(*rows, width=60, **options):
    file = io.StringIO()
    Terminal(file=file, width=width).print(terminal_table(("name", "count"), rows, **options))
    return file.getvalue()


def test_numbers_stand_at_the_right():
    assert "│ a    │     7 │" in shown(("a", "7"), right=["count"])


def test_no_text_is_read_as_markup_or_emoji():
    found = shown(("[red]a[/]", ":tada:"), title="[bold]t", caption="[i]c")
    assert all(text in found for text in ("[red]a[/]", ":tada:", "[bold]t", "[i]c"))


def test_no_cell_imitates_another_row():
    assert len(shown(("a\nb", "1")).splitlines()) == len(shown(("a", "1")).splitlines())


def test_a_long_cell_goes_on_in_its_own_column_and_nothing_is_cut():
    found = shown(("a" * 50, "1"), width=30)
    assert found.count("a") - "name".count("a") == 50
