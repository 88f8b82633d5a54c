"""The release as a record of European catalogues: DCAT-AP 3 and HealthDCAT-AP, in JSON-LD."""

from __future__ import annotations

from typing import Any

from .card import description_of, promise_in_words, title_of
from .document import OPEN
from .institution import Institution
from .subject import DescribedTable, Subject

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcatap": "http://data.europa.eu/r5r/",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_HEALTH_CONTEXT = {"healthdcatap": "http://healthdataportal.eu/ns/health#", "dpv": "https://w3id.org/dpv#"}

_AUTHORITY = "http://publications.europa.eu/resource/authority/"


def dcat_ap(subject: Subject, institution: Institution) -> dict[str, Any]:
    """The record of DCAT-AP 3."""
    says = institution.says
    dataset = {
        "@id": f"urn:sha256:{subject.digest}",
        "@type": "dcat:Dataset",
        "dct:title": _text(title_of(subject, institution)),
        "dct:description": _text(description_of(subject, institution)),
        "dct:identifier": f"urn:sha256:{subject.digest}",
        "dct:issued": _day(says("dataset", "published") or subject.day),
        "dct:publisher": _agent(says("dataset", "publisher"), says("dataset", "publisher_url")),
        "dcat:contactPoint": {"@type": "vcard:Kind", "vcard:fn": subject.contact or OPEN},
        "dct:spatial": says("dataset", "region") or OPEN,
        "dct:provenance": {
            "@type": "dct:ProvenanceStatement",
            "dct:description": _text(
                f"{promise_in_words(subject)} Made on {subject.day} by dpmosaic {subject.version}, mechanism "
                f"{subject.mechanism}, protocol {subject.protocol}."
            ),
        },
        "prov:qualifiedAttribution": [
            {
                "@type": "prov:Attribution",
                "prov:agent": _agent(institution.of_controller(one.name, "institution") or one.name, ""),
                "dcat:hadRole": "https://standards.iso.org/iso/19115/resources/Codelists/cat/codelists.xml#contributor",
            }
            for one in subject.members
        ],
        "dcat:distribution": [_distribution(subject, institution, table) for table in subject.tables],
    }
    landing = says("dataset", "url")
    if landing:
        dataset["dcat:landingPage"] = {"@id": landing}
    return {"@context": _CONTEXT, **dataset}


def health_dcat_ap(subject: Subject, institution: Institution) -> dict[str, Any]:
    """The record of HealthDCAT-AP, of a table whose institution describes its health data."""
    record = dcat_ap(subject, institution)

    def says(key: str) -> str:
        return institution.says("health", key) or OPEN

    ages = {
        name: int(institution.says("health", key))
        for name, key in (
            ("healthdcatap:minTypicalAge", "least_age"),
            ("healthdcatap:maxTypicalAge", "largest_age"),
        )
        if institution.says("health", key)
    }
    category = institution.says("health", "category")
    return {
        **record,
        "@context": _CONTEXT | _HEALTH_CONTEXT,
        "dcat:theme": {"@id": f"{_AUTHORITY}data-theme/HEAL"},
        "dct:type": {"@id": f"{_AUTHORITY}dataset-type/SYNTHETIC_DATA"},
        "dct:accessRights": {"@id": f"{_AUTHORITY}access-right/PUBLIC"},
        "dcatap:applicableLegislation": {"@id": "http://data.europa.eu/eli/reg/2025/327/oj"},
        "healthdcatap:healthCategory": {"@id": category} if category else OPEN,
        "healthdcatap:hdab": _agent(
            institution.says("health", "body"), institution.says("health", "body_url")
        ),
        "healthdcatap:populationCoverage": _text(says("population")),
        "healthdcatap:numberOfRecords": subject.rows,
        "dpv:hasPurpose": _text(subject.purpose or institution.says("dataset", "use") or OPEN),
        "dpv:hasLegalBasis": _text(institution.says("processing", "legal_basis") or OPEN),
        "dpv:hasPersonalData": _text("None: the rows are synthetic. " + promise_in_words(subject)),
        **ages,
    }


def _distribution(subject: Subject, institution: Institution, table: DescribedTable) -> dict[str, Any]:
    media, form = table.media
    base = institution.says("dataset", "url")
    license_ = institution.says("dataset", "license")
    return {
        "@type": "dcat:Distribution",
        "dct:title": _text(table.file),
        "dcat:accessURL": {"@id": base} if base else OPEN,
        "dcat:mediaType": {"@id": f"https://www.iana.org/assignments/media-types/{media}"},
        "dct:format": {"@id": f"{_AUTHORITY}file-type/{form}"},
        "dct:license": {"@id": license_} if license_ else OPEN,
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {"@type": "xsd:hexBinary", "@value": table.sha256},
        },
    }


def _text(text: str) -> dict[str, str]:
    return {"@language": "en", "@value": text}


def _day(day: str) -> dict[str, str]:
    return {"@type": "xsd:date", "@value": day}


def _agent(name: str, page: str) -> dict[str, Any]:
    homepage = {"foaf:homepage": {"@id": page}} if page else {}
    return {"@type": "foaf:Agent", "foaf:name": name or OPEN, **homepage}
