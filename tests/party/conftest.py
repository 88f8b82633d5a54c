from support.masked import masked, release  # noqa: F401
