"""Optional dependencies: one clear sentence where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import MissingExtraError

_CURATOR = (
    *("networkx", "numba", "scipy", "threadpoolctl", "pandas", "pyarrow"),
    *("dp_accounting", "jinja2"),
)
_EVAL = (*_CURATOR, "sklearn")
_MODULES = {
    "curator": _CURATOR,
    "eval": _EVAL,
    "demo": (*_EVAL, "statsmodels"),
    "gan": (*_CURATOR, "torch", "opacus"),
    "metrics": ("prometheus_client",),
}


def require_extra(extra: str) -> None:
    """Refuses to go on without an extra's packages.

    Args:
        extra: one of pyproject's optional dependencies.

    Raises:
        MissingExtraError: names the extra and the command that installs it.
    """
    missing = [module for module in _MODULES[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"this needs {', '.join(missing)}, which the extra {extra!r} brings: "
            f"pip install 'dpmosaic[{extra}]'"
        )
