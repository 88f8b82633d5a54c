"""The commands `dpmosaic curator preflight` and `verify`: one line for each check, status 1 if one failed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.showing.telling import tell
from .options import Settings, parse_settings


def preflight(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file.")],
    home: Annotated[
        Path | None, typer.Option(help="The curator's folder; the plan's folder by default.")
    ] = None,
    settings: Settings = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each check.")
    ] = False,
) -> None:
    """Check everything that could stop a release, and what all parties say to it; charges nothing."""
    require_extra("curator")
    from .forecasting.preflight import preflight as run_checks
    from .parties.home import CuratorHome
    from .releasing.planning.plan import ReleasePlan

    read = ReleasePlan.load(plan).with_settings(parse_settings(settings))
    first = None
    if read.tables is not None:
        from .related.planned import first_of

        first = first_of(read)
    checks = run_checks(CuratorHome.open(home or plan.parent), read, first=first)
    if json_output:
        _print_lines(((one.passed, json.dumps(asdict(one))) for one in checks), coloured=False)
    else:
        _print_lines(
            (one.passed, f"{'ok  ' if one.passed else 'FIX'}  {one.about}: {one.what}: {one.finding}")
            for one in checks
        )


def verify(
    certificate: Annotated[Path, typer.Argument(help="The certificate of a release.")],
    federation: Annotated[
        Path | None,
        typer.Option(
            help="File of all cards, whose identities were compared; none for people from one place."
        ),
    ] = None,
) -> None:
    """Verify a certificate and the published files beside it, offline, by the identities of the cards."""
    require_extra("curator")
    from ..common.federation.card import FederationList, read_json
    from .certificates.certificate import Certificate
    from .certificates.verify import verify_certificate
    from .people.certificate import PeopleCertificate
    from .people.files import verify_people

    form = read_json(certificate)
    listed = None if federation is None else FederationList.from_json(read_json(federation))
    if isinstance(form, dict) and form.get("format") == PeopleCertificate.format:
        checks = verify_people(certificate.parent, listed)
    elif listed is None:
        raise DataError("--federation: expected the file of all cards, got none; name it")
    else:
        checks = verify_certificate(Certificate.load(certificate), listed, certificate.parent)
    _print_lines(
        (one.passed, f"{'ok    ' if one.passed else 'FAILED'}  {one.what}: {one.finding}") for one in checks
    )


def _print_lines(checks: Iterable[tuple[bool, str]], *, coloured: bool = True) -> None:
    """Prints the line of each check when it is known; ends with status 1 if one failed."""
    failed = False
    for passed, line in checks:
        failed = failed or not passed
        tell(line, fg=typer.colors.RED if coloured and not passed else None)
    if failed:
        raise typer.Exit(1)
