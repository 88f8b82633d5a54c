"""A validator of JSON schemas, without the format of international addresses.

No schema of ours has it, and its grammar takes five seconds to compile, in every process that collects tests.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)

from jsonschema import Draft202012Validator as Draft202012Validator  # noqa: E402
