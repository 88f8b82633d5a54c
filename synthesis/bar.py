"""Where a progress bar is shown."""

from __future__ import annotations

from rich.console import Console

from ..common.showing.terminal import Terminal


def console_for(progress: bool | None) -> Console:
    """The console of a progress bar, which shows it in a terminal or a notebook.

    Args:
        progress: whether to show it; None where there is one of these.
    """
    console = Terminal(stderr=True, quiet=progress is False)
    if progress and not console.is_jupyter:
        return Terminal(stderr=True, force_terminal=True)
    return console
