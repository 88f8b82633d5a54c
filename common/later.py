"""numpy, imported at its first use: light commands read and print values whose modules know arrays."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["np"]


class _Later(ModuleType):
    """Stands for a module until something of it is used, and then has all that the module has."""

    def __getattr__(self, name: str) -> object:
        self.__dict__.update(vars(import_module(self.__name__)))
        # From now on it is as quick as the module itself.
        self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(self, name)


if TYPE_CHECKING:
    import numpy as np
else:
    np = sys.modules.get("numpy") or _Later("numpy")
