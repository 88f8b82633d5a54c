"""The commands `dpmosaic domain ...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.errors import DataError
from ...common.files.writing import print_or_write
from ...common.showing.telling import tell, write
from ..printing import print_rows
from ..sources.options import Header

domain_commands = typer.Typer(help="Domain files: possible values of each attribute.", no_args_is_help=True)

Data = Annotated[Path, typer.Argument(help="A table: .csv, .tsv (perhaps .gz), .parquet; or a query: .sql.")]
Database = Annotated[
    Path | None, typer.Option(help="With a query: the file of DuckDB or SQLite that it reads.")
]


@domain_commands.callback()
def _domain() -> None:
    """Domain files: possible values of each attribute."""


@domain_commands.command()
def infer(
    data: Annotated[
        Path,
        typer.Argument(
            help="A table: .csv, .tsv (perhaps .gz), .parquet; a query: .sql; or a folder of related tables."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output file; default: standard output. Of related tables, a folder.")
    ] = None,
    na: Annotated[
        list[str] | None, typer.Option(help="A text that stands for a missing value; may be repeated.")
    ] = None,
    database: Database = None,
    header: Header = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Of one table: the column that names the person of each row; a remark then says how to "
            "release it."
        ),
    ] = None,
) -> None:
    """Draft a domain file from a table. Not private: review it against public knowledge."""
    from ...common.federation.card import as_text
    from ..sources.query import open_queried
    from .inference import draft_file

    if data.is_dir():
        if key is not None:
            raise DataError("key: expected one table beside it, got a folder of several; leave it out")
        from .related.relations import draft_folder, notes_of, save_folder

        if out is None:
            raise DataError("out: expected a folder for the drafts of related tables, got none; name one")
        drafted = draft_folder(data, na or ())
        written = save_folder(drafted, out)
        for note in notes_of(drafted):
            tell(note, err=True)
        tell(f"review {written}, and each domain file beside it: dpmosaic domain review FILE", err=True)
        return
    draft = draft_file(data, na or (), database, header=header)
    if key is not None:
        from .related.keyed import with_key

        draft = with_key(draft, open_queried(data, database, header=header), key)
    write(f"{draft!r}\n", err=True)
    if out is None:
        write(as_text(draft.to_json()))
    else:
        draft.save(out)
        tell(f"review it: dpmosaic domain review {out}", err=True)


@domain_commands.command("from")
def convert(
    described: Annotated[
        Path,
        typer.Argument(
            help="Metadata of SDV (.json, of one table or several), or a domain of dpsynth (.yaml)."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Output file; default: standard output. Of several tables, a folder.")
    ] = None,
) -> None:
    """Write a domain file from what another package says of a table; several tables get relations too."""
    from ...common.data.domain_files.others import DescribedTables
    from .others import notes, read_described, save_tables, text_of_table

    found = read_described(described)
    for note in notes(found):
        tell(note, err=True)
    if isinstance(found, DescribedTables):
        if out is None:
            raise DataError("out: expected a folder for the files of several tables, got none; name one")
        tell(f"written: {save_tables(found, out)}, and a domain file of each table beside it", err=True)
    else:
        print_or_write(text_of_table(found), out)


@domain_commands.command()
def review(domain: Annotated[Path, typer.Argument(help="A domain file, drafted or edited.")]) -> None:
    """Go through the entries of a domain file that nobody has reviewed, one at a time."""
    from .draft import Draft
    from .walk import review_entries

    draft = Draft.load(domain)
    review_entries(draft, domain)
    left = len(draft.unreviewed)
    tell(f"entries left to review: {left}" if left else "Every entry is reviewed.")


@domain_commands.command()
def check(
    data: Data,
    domain: Annotated[Path, typer.Option(help="Domain file.")],
    database: Database = None,
    header: Header = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON list and nothing else.")
    ] = False,
) -> None:
    """Compare a table with a domain file, for its owner only. Exit status 1: the table cannot be encoded."""
    from ...common.data.domain import Domain
    from ..sources.checking import PRIVATE, check_rows
    from ..sources.query import open_queried

    findings = list(check_rows(open_queried(data, database, header=header), Domain.load(domain)))
    rows = [(f.where, f.what, f.rows, "refused" if f.refused else "") for f in findings]
    tell(PRIVATE, err=True, fg=typer.colors.YELLOW)
    if rows or json_output:
        print_rows(("column", "finding", "rows", "encoding"), rows, json_output)
    else:
        tell("The table is as the domain says: nothing to report.")
    if any(finding.refused for finding in findings):
        raise typer.Exit(1)
