"""The command `dpmosaic schema`."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any

import typer

from ..common.extras import require_extra
from ..common.showing.telling import write


class WrittenFile(enum.StrEnum):
    """A file that people write."""

    PLAN = "plan"
    POLICY = "policy"
    DEALER = "dealer"
    DOMAIN = "domain"


def schema(
    of: Annotated[WrittenFile, typer.Argument(help="The kind of file.")],
) -> None:
    """Print the JSON schema of a file that people write, for editors; reading the file checks the same."""
    write(json.dumps(schema_of(of), indent=2) + "\n")


def schema_of(of: WrittenFile) -> dict[str, Any]:
    """The JSON schema of a file that people write, draft 2020-12.

    Raises:
        MissingExtraError: plans name the parameters of mechanisms, and these are not installed.
    """
    from ..common.forms.tables import file_schema

    match of:
        case WrittenFile.PLAN:
            require_extra("curator")
            from ..curator.releasing.planning.form import plan_form

            return file_schema("plan.toml", plan_form())
        case WrittenFile.POLICY:
            from ..party.names import POLICY
            from ..party.policies.form import FORM

            return file_schema(POLICY, FORM)
        case WrittenFile.DEALER:
            from ..party.dealing import policy

            return file_schema(policy.NAME, policy.FORM)
        case WrittenFile.DOMAIN:
            from ..common.data.domain_files.form import domain_schema

            return domain_schema()
