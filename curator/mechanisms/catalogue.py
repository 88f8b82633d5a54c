"""All mechanisms by name."""

from __future__ import annotations

from collections.abc import Callable

from ...common.errors import DataError
from .independent import Independent
from .mechanism import Mechanism
from .randdpgen import RandDPGen

_MECHANISMS: dict[str, dict[str, Callable[[], Mechanism]]] = {
    "randdpgen": {"default": RandDPGen, "paper": RandDPGen.of_the_paper},
    "independent": {"default": Independent},
}


def mechanism_named(name: str, variant: str = "default") -> Mechanism:
    """A mechanism with the defaults of one of its variants.

    Raises:
        DataError: no mechanism has this name or variant; lists those that there are.
    """
    if name not in _MECHANISMS:
        raise DataError(f"mechanism: expected one of {', '.join(_MECHANISMS)}, got {name!r}")
    if variant not in _MECHANISMS[name]:
        raise DataError(f"variant of {name}: expected one of {', '.join(_MECHANISMS[name])}, got {variant!r}")
    return _MECHANISMS[name][variant]()
