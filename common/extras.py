"""Checks of optional dependencies."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import MissingExtraError

_CURATOR = (
    *("networkx", "numba", "scipy", "pandas", "pyarrow"),
    *("dp_accounting", "jinja2"),
)
_EVAL = (*_CURATOR, "sklearn")
_MODULES = {
    "curator": _CURATOR,
    "eval": _EVAL,
    "demo": (*_EVAL, "statsmodels"),
    "ddh": ("nacl",),
    "gan": (*_CURATOR, "torch", "opacus"),
    "cluster": ("distributed",),
    "metrics": ("prometheus_client",),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
    "console": ("starlette", "uvicorn", "jinja2"),
    "sso": ("starlette", "uvicorn", "jinja2", "jwt"),
    "files": ("pyarrow", "openpyxl", "pyreadstat", "yaml"),
    "plot": ("matplotlib",),
    "adbc": ("adbc_driver_manager", "pyarrow"),
}


def require_extra(extra: str) -> None:
    """Returns only if the packages of an extra are installed.

    Args:
        extra: one of pyproject's optional dependencies.

    Raises:
        MissingExtraError: a package is missing; the message states the command that installs it.
    """
    missing = [module for module in _MODULES[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtraError(
            f"this needs {', '.join(missing)} of the extra {extra!r}; install it: "
            f"pip install 'dpmosaic[{extra}]', or run the command with it: "
            f"pipx run --spec 'dpmosaic[{extra}]' dpmosaic"
        )
