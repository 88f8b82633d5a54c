"""What tools that read the table ask for: CSVW, metadata of SDMetrics, a dictionary as of SDNist."""

from __future__ import annotations

from typing import Any

from .card import title_of
from .institution import Institution
from .subject import Column, DescribedTable, Subject

_CSVW = {
    "text": "string",
    "integer": "integer",
    "key": "integer",
    "text key": "string",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
    "datetime": "dateTime",
}
_SDTYPES = {
    "text": "categorical",
    "integer": "numerical",
    "number": "numerical",
    "boolean": "boolean",
    "key": "id",
    "text key": "id",
    "date": "datetime",
    "datetime": "datetime",
}
_FORMATS = {"date": "%Y-%m-%d", "datetime": "%Y-%m-%d %H:%M:%S"}


def csvw(subject: Subject, institution: Institution) -> dict[str, Any]:
    """Metadata of the CSV files (W3C, "Metadata Vocabulary for Tabular Data")."""
    return {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "dc:title": title_of(subject, institution),
        "dc:source": f"urn:sha256:{subject.digest}",
        "tables": [_csvw_table(subject, table) for table in subject.tables if table.is_csv],
    }


def sdmetrics(subject: Subject) -> dict[str, Any]:
    """Metadata of SDMetrics and SDV, version V1: types and keys of all tables."""
    parents = {table.name: table for table in subject.tables}
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            table.name: {
                "columns": {column.name: _sdtype(column) for column in table.columns},
                **({"primary_key": table.key} if table.key else {}),
            }
            for table in subject.tables
        },
        "relationships": [
            {
                "parent_table_name": table.parent,
                "parent_primary_key": parents[table.parent].key,
                "child_table_name": table.name,
                "child_foreign_key": table.foreign,
            }
            for table in subject.tables
            if table.parent in parents
        ],
    }


def sdnist(subject: Subject) -> dict[str, Any]:
    """A data dictionary in the form of SDNist's, and the labels that it asks of a deidentified file."""
    return {
        "dictionary": {
            column.name: {
                "description": column.name,
                "values": _sdnist_values(column),
                **({"has_null": True} if column.missing else {}),
            }
            for table in subject.tables
            for column in table.columns
        },
        "labels": {
            "algorithm name": subject.mechanism,
            "library name": f"dpmosaic {subject.version}",
            "privacy category": "dp" if subject.private else "non_dp",
            "privacy label detail": f"adjacency {subject.adjacency}",
            "epsilon": subject.epsilon,
            "delta": subject.delta,
            "variant label": subject.protocol,
            "feature set": [column.name for table in subject.tables for column in table.columns],
        },
    }


def _csvw_table(subject: Subject, table: DescribedTable) -> dict[str, Any]:
    schema: dict[str, Any] = {"columns": [_csvw_column(column) for column in table.columns]}
    if table.key:
        schema["primaryKey"] = table.key
    parents = [one for one in subject.tables if one.name == table.parent]
    if parents:
        target = {"resource": parents[0].file, "columnReference": parents[0].key}
        schema["foreignKeys"] = [{"columnReference": table.foreign, "reference": target}]
    return {"url": table.file, "tableSchema": schema}


def _csvw_column(column: Column) -> dict[str, Any]:
    kind: dict[str, Any] = {"base": _CSVW[column.kind]}
    if column.categories and all(map(str.isprintable, column.categories)):
        kind["format"] = "|".join(map(_pattern_of, column.categories))
    if column.minimum and column.maximum:
        kind |= {"minimum": column.minimum, "maximum": column.maximum}
    required = {} if column.missing else {"required": True}
    return {"name": column.name, "titles": column.name, "datatype": kind, **required}


def _pattern_of(text: str) -> str:
    """A text as a regular expression, which CSVW takes as the format of a string."""
    return "".join(f"\\{letter}" if letter in r"\^$.|?*+()[]{}" else letter for letter in text)


def _sdtype(column: Column) -> dict[str, str]:
    stated = {"sdtype": _SDTYPES[column.kind]}
    if column.kind in _FORMATS:
        stated["datetime_format"] = _FORMATS[column.kind]
    return stated


def _sdnist_values(column: Column) -> Any:
    if column.categories:
        return {str(place): category for place, category in enumerate(column.categories)}
    if column.minimum and column.maximum:
        return {"min": float(column.minimum), "max": float(column.maximum)}
    return column.kind
