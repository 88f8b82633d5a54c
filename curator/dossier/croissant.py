"""The release as Croissant 1.1 with fields of responsible AI (JSON-LD of MLCommons).

Source: http://mlcommons.org/croissant/1.1 and http://mlcommons.org/croissant/RAI/1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .card import description_of, promise_in_words, title_of
from .document import OPEN
from .institution import Institution
from .subject import Column, DescribedTable, Subject

CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_TYPES = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "key": "sc:Integer",
    "text key": "sc:Text",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}


def croissant(subject: Subject, institution: Institution) -> dict[str, Any]:
    """The record; what only the institution knows and does not say is marked as open."""

    def says(key: str, section: str = "dataset") -> str:
        return institution.says(section, key) or OPEN

    title = title_of(subject, institution)
    url = institution.says("dataset", "url")
    limits = "; ".join(f"{pair}: {distance:.3f}" for pair, distance in subject.worst)
    return {
        "@context": dict(CONTEXT),
        "@type": "sc:Dataset",
        "name": title,
        "description": description_of(subject, institution),
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "url": url or f"urn:sha256:{subject.digest}",
        "identifier": f"urn:sha256:{subject.digest}",
        "version": "1.0.0",
        "dateCreated": subject.day,
        "datePublished": institution.says("dataset", "published") or subject.day,
        "license": says("license"),
        "creator": {"@type": "sc:Organization", "name": says("publisher")},
        "citeAs": f"{says('publisher')}: {title}. Synthetic table, certificate {subject.digest}.",
        "isLiveDataset": False,
        "rai:dataCollection": says("collected"),
        "rai:dataCollectionType": "Synthetic rows, drawn from a model of noisy marginals of the real table",
        "rai:dataPreprocessingProtocol": f"{subject.mechanism} over the protocol {subject.protocol}",
        "rai:dataBiases": says("biases"),
        "rai:dataUseCases": subject.purpose or says("use"),
        "rai:dataLimitations": "No row is a person. Total variation distances of the worst marginals "
        "at most: " + (limits or "not stated"),
        "rai:personalSensitiveInformation": promise_in_words(subject),
        "rai:dataSocialImpact": institution.says("dataset", "not_for") or OPEN,
        "rai:dataReleaseMaintenancePlan": says("upkeep"),
        "distribution": [_file(table) for table in subject.tables],
        "recordSet": [_records(subject, table) for table in subject.tables],
    }


def _file(table: DescribedTable) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "contentUrl": table.file,
        "encodingFormat": table.media[0],
        "sha256": table.sha256,
    }


def _records(subject: Subject, table: DescribedTable) -> dict[str, Any]:
    key = {"key": {"@id": f"{table.name}/{table.key}"}} if table.key else {}
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        **key,
        "field": [_field(subject, table, column) for column in table.columns],
    }


def _field(subject: Subject, table: DescribedTable, column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table.name}/{column.name}",
        "name": column.name,
        "dataType": _TYPES[column.kind],
        "source": {"fileObject": {"@id": table.file}, "extract": {"column": column.name}},
    }
    if table.foreign == column.name:
        (parent,) = (one for one in subject.tables if one.name == table.parent)
        field["references"] = {"field": {"@id": f"{parent.name}/{parent.key}"}}
    return field
