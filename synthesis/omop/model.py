"""The tables of the common data model, version 5.4, that are read and written; concepts that every CDM has.

Source: OHDSI, OMOP CDM v5.4, specification of tables and fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VERSION = "5.4"

NO_CONCEPT = 0
"""OMOP's concept for what has none, "No matching concept"."""

MALE, FEMALE = 8507, 8532
GENDERS = {MALE: "MALE", FEMALE: "FEMALE"}
RACES = {
    8515: "Asian",
    8516: "Black or African American",
    8527: "White",
    8557: "Native Hawaiian or Other Pacific Islander",
    8657: "American Indian or Alaska Native",
}
HISPANIC, NOT_HISPANIC = 38003563, 38003564
ETHNICITIES = {HISPANIC: "Hispanic or Latino", NOT_HISPANIC: "Not Hispanic or Latino"}
INPATIENT, OUTPATIENT, EMERGENCY = 9201, 9202, 9203
VISITS = {INPATIENT: "Inpatient Visit", OUTPATIENT: "Outpatient Visit", EMERGENCY: "Emergency Room Visit"}
RECORD = 32817
"""The type of a record from an electronic health record."""


@dataclass(frozen=True)
class CdmTable:
    """A table of the common data model.

    Attributes:
        name: of the table.
        columns: name of each column -> its type in SQL.
        key: its column that numbers the rows; empty if it has none.
        concept: the column of the standard concept that a row is about; empty if it has none.
        domain: domain of these concepts.
        start: column of the day, or of the first one; empty if a row has none.
        end: column of the last day; empty if a row has none.
    """

    name: str
    columns: Mapping[str, str]
    key: str = ""
    concept: str = ""
    domain: str = ""
    start: str = ""
    end: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns of source values and free texts, which a release leaves empty."""
        return tuple(name for name, kind in self.columns.items() if kind == "VARCHAR")

    @property
    def concepts(self) -> tuple[str, ...]:
        """The columns that hold concepts, but those of the source's own codes."""
        return tuple(name for name in self.columns if name.endswith("concept_id") and "source" not in name)


def _table(name: str, columns: str, **more: str) -> CdmTable:
    """A table whose columns have the types that their names say in the data model."""
    return CdmTable(name, {column: _kind(column) for column in columns.split()}, **more)


def _kind(column: str) -> str:
    if column.endswith("datetime"):
        return "TIMESTAMP"
    if column.endswith("_date"):
        return "DATE"
    if column in ("value_as_number", "range_low", "range_high", "quantity"):
        return "DOUBLE"
    texts = ("_value", "stop_reason", "sig", "lot_number", "measurement_time", "_name", "_code", "_reason")
    if column.endswith(texts) or column in (
        "domain_id",
        "vocabulary_id",
        "concept_class_id",
        "standard_concept",
    ):
        return "VARCHAR"
    return "BIGINT"


PERSON = _table(
    "person",
    "person_id gender_concept_id year_of_birth month_of_birth day_of_birth birth_datetime race_concept_id "
    "ethnicity_concept_id location_id provider_id care_site_id person_source_value gender_source_value "
    "gender_source_concept_id race_source_value race_source_concept_id ethnicity_source_value "
    "ethnicity_source_concept_id",
    key="person_id",
)
PERIOD = _table(
    "observation_period",
    "observation_period_id person_id observation_period_start_date observation_period_end_date "
    "period_type_concept_id",
    key="observation_period_id",
    start="observation_period_start_date",
    end="observation_period_end_date",
)
VISIT = _table(
    "visit_occurrence",
    "visit_occurrence_id person_id visit_concept_id visit_start_date visit_start_datetime visit_end_date "
    "visit_end_datetime visit_type_concept_id provider_id care_site_id visit_source_value "
    "visit_source_concept_id admitted_from_concept_id admitted_from_source_value discharged_to_concept_id "
    "discharged_to_source_value preceding_visit_occurrence_id",
    key="visit_occurrence_id",
    concept="visit_concept_id",
    domain="Visit",
    start="visit_start_date",
    end="visit_end_date",
)
CONDITION = _table(
    "condition_occurrence",
    "condition_occurrence_id person_id condition_concept_id condition_start_date condition_start_datetime "
    "condition_end_date condition_end_datetime condition_type_concept_id condition_status_concept_id "
    "stop_reason provider_id visit_occurrence_id visit_detail_id condition_source_value "
    "condition_source_concept_id condition_status_source_value",
    key="condition_occurrence_id",
    concept="condition_concept_id",
    domain="Condition",
    start="condition_start_date",
    end="condition_end_date",
)
DRUG = _table(
    "drug_exposure",
    "drug_exposure_id person_id drug_concept_id drug_exposure_start_date drug_exposure_start_datetime "
    "drug_exposure_end_date drug_exposure_end_datetime verbatim_end_date drug_type_concept_id stop_reason "
    "refills quantity days_supply sig route_concept_id lot_number provider_id visit_occurrence_id "
    "visit_detail_id drug_source_value drug_source_concept_id route_source_value dose_unit_source_value",
    key="drug_exposure_id",
    concept="drug_concept_id",
    domain="Drug",
    start="drug_exposure_start_date",
    end="drug_exposure_end_date",
)
MEASUREMENT = _table(
    "measurement",
    "measurement_id person_id measurement_concept_id measurement_date measurement_datetime measurement_time "
    "measurement_type_concept_id operator_concept_id value_as_number value_as_concept_id unit_concept_id "
    "range_low range_high provider_id visit_occurrence_id visit_detail_id measurement_source_value "
    "measurement_source_concept_id unit_source_value unit_source_concept_id value_source_value "
    "measurement_event_id meas_event_field_concept_id",
    key="measurement_id",
    concept="measurement_concept_id",
    domain="Measurement",
    start="measurement_date",
)
DEATH = _table(
    "death",
    "person_id death_date death_datetime death_type_concept_id cause_concept_id cause_source_value "
    "cause_source_concept_id",
    start="death_date",
)
CONCEPT = _table(
    "concept",
    "concept_id concept_name domain_id vocabulary_id concept_class_id standard_concept concept_code "
    "valid_start_date valid_end_date invalid_reason",
    key="concept_id",
)
ANCESTOR = _table(
    "concept_ancestor",
    "ancestor_concept_id descendant_concept_id min_levels_of_separation max_levels_of_separation",
)

EVENTS = (CONDITION, DRUG, MEASUREMENT)
"""What happens at a visit."""

CLINICAL = (PERSON, PERIOD, VISIT, *EVENTS, DEATH)
VOCABULARY = (CONCEPT, ANCESTOR)
