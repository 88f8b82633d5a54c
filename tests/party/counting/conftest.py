from support.parties import ledgers  # noqa: F401
