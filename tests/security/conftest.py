from support.operators import operator  # noqa: F401
from support.parties import ledgers  # noqa: F401
