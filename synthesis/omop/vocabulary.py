"""An invented vocabulary with a hierarchy: concepts that look like those of a hospital.

Their numbers are those of local concepts, from two thousand million on: none is one of OHDSI's vocabularies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pandas as pd

from .model import ETHNICITIES, GENDERS, NO_CONCEPT, RACES, RECORD, VISITS

_FIRST_LOCAL = 2_000_000_000
_BLOCKS = {"Condition": 1, "Drug": 2, "Measurement": 3, "Unit": 4}

_CONDITIONS = """
Disease
  Disease of circulation
    Hypertensive disease
      Essential hypertension
      Hypertensive heart disease
    Ischaemic heart disease
      Stable angina
      Myocardial infarction
    Heart failure
      Chronic heart failure
      Acute heart failure
    Arrhythmia
      Atrial fibrillation
      Supraventricular tachycardia
  Disease of metabolism
    Diabetes
      Type 1 diabetes
      Type 2 diabetes
      Diabetic retinopathy
    Disorder of lipids
      Hypercholesterolaemia
      Mixed hyperlipidaemia
    Disease of the thyroid
      Hypothyroidism
      Hyperthyroidism
  Disease of breathing
    Acute infection of airways
      Common cold
      Acute bronchitis
      Influenza
    Pneumonia
      Bacterial pneumonia
      Viral pneumonia
    Chronic disease of airways
      Asthma
      Chronic obstructive pulmonary disease
  Disease of bones and muscles
    Pain of the back
      Low back pain
      Neck pain
    Arthrosis
      Arthrosis of the knee
      Arthrosis of the hip
    Injury
      Fracture of the wrist
      Sprain of the ankle
  Disease of the mind
    Disorder of mood
      Depression
      Anxiety
    Dementia
      Alzheimer's disease
      Vascular dementia
  Disease of digestion
    Disease of the stomach
      Reflux
      Gastritis
    Infection of the bowel
      Viral gastroenteritis
      Bacterial gastroenteritis
  Disease of the kidneys and urinary tract
    Chronic kidney disease
      Chronic kidney disease stage 3
      Chronic kidney disease stage 4
    Infection of the urinary tract
      Cystitis
      Pyelonephritis
  Tumour
    Malignant tumour
      Cancer of the breast
      Cancer of the prostate
      Cancer of the colon
"""

_DRUGS = """
Medicine
  Medicine for the circulation
    ACE inhibitor
      Ramipril
      Lisinopril
    Beta blocker
      Bisoprolol
      Metoprolol
    Diuretic
      Furosemide
      Hydrochlorothiazide
    Statin
      Simvastatin
      Atorvastatin
    Anticoagulant
      Warfarin
      Apixaban
  Medicine for the metabolism
    Oral antidiabetic
      Metformin
      Gliclazide
    Insulin
      Insulin glargine
      Insulin lispro
    Thyroid hormone
      Levothyroxine
  Medicine for breathing
    Inhaled bronchodilator
      Salbutamol
      Tiotropium
    Inhaled steroid
      Budesonide
  Medicine against infections
    Penicillin
      Amoxicillin
      Penicillin V
    Other antibiotic
      Nitrofurantoin
      Azithromycin
  Medicine against pain
    Anti-inflammatory
      Ibuprofen
      Naproxen
    Other painkiller
      Paracetamol
      Tramadol
  Medicine for the mind
    Antidepressant
      Sertraline
      Citalopram
    Medicine against dementia
      Donepezil
  Medicine for digestion
    Acid inhibitor
      Omeprazole
      Pantoprazole
  Medicine against tumours
    Hormone antagonist
      Tamoxifen
      Bicalutamide
"""

_MEASUREMENTS = """
Finding by measuring
  Vital sign
    Systolic blood pressure
    Diastolic blood pressure
    Heart rate
    Body temperature
    Body mass index
  Measurement of sugar
    Glucose in blood
    Haemoglobin A1c
  Measurement of lipids
    Total cholesterol
    LDL cholesterol
    HDL cholesterol
  Measurement of kidneys
    Creatinine
    Filtration rate
  Measurement of blood
    Haemoglobin
    C-reactive protein
    Natriuretic peptide
  Measurement of the thyroid
    Thyrotropin
"""


@dataclass(frozen=True)
class Ranged:
    """What a measurement's values may be, publicly.

    Attributes:
        low: the smallest value; smaller ones count as it.
        high: the largest value; larger ones count as it.
        decimals: number of decimals of values.
        unit: concept of the unit.
    """

    low: float
    high: float
    decimals: int
    unit: int


_RANGES = {
    "Systolic blood pressure": (70, 230, 0, "mmHg"),
    "Diastolic blood pressure": (40, 130, 0, "mmHg"),
    "Heart rate": (35, 160, 0, "/min"),
    "Body temperature": (35, 41.4, 1, "degree Celsius"),
    "Body mass index": (14, 54, 1, "kg/m2"),
    "Glucose in blood": (2, 26, 1, "mmol/L"),
    "Haemoglobin A1c": (4, 14, 1, "percent"),
    "Total cholesterol": (2, 10, 1, "mmol/L"),
    "LDL cholesterol": (0.5, 7.5, 1, "mmol/L"),
    "HDL cholesterol": (0.4, 3.2, 1, "mmol/L"),
    "Creatinine": (30, 510, 0, "umol/L"),
    "Filtration rate": (5, 133, 0, "mL/min"),
    "Haemoglobin": (50, 194, 0, "g/L"),
    "C-reactive protein": (0, 320, 0, "mg/L"),
    "Natriuretic peptide": (0, 4800, 0, "ng/L"),
    "Thyrotropin": (0, 16, 1, "mIU/L"),
}


@dataclass(frozen=True)
class _Entry:
    concept: int
    name: str
    domain: str
    above: tuple[int, ...]


@cache
def _entries() -> tuple[_Entry, ...]:
    """The concepts of the trees, with those above them, nearest first."""
    found = []
    for domain, tree in (("Condition", _CONDITIONS), ("Drug", _DRUGS), ("Measurement", _MEASUREMENTS)):
        path: list[int] = []
        for place, line in enumerate(tree.strip("\n").split("\n"), start=1):
            name = line.strip()
            path = path[: (len(line) - len(name)) // 2]
            concept = _FIRST_LOCAL + _BLOCKS[domain] * 1_000_000 + place
            found.append(_Entry(concept, name, domain, tuple(reversed(path))))
            path = [*path, concept]
    units = dict.fromkeys(unit for *_, unit in _RANGES.values())
    found += (
        _Entry(_FIRST_LOCAL + _BLOCKS["Unit"] * 1_000_000 + place, unit, "Unit", ())
        for place, unit in enumerate(units, start=1)
    )
    return tuple(found)


@cache
def concept_named(name: str) -> int:
    """The number of an invented concept."""
    (found,) = (entry.concept for entry in _entries() if entry.name == name)
    return found


@cache
def ranges() -> dict[int, Ranged]:
    """The ranges of the invented measurements, by their concepts."""
    return {
        concept_named(name): Ranged(low, high, decimals, concept_named(unit))
        for name, (low, high, decimals, unit) in _RANGES.items()
    }


def concepts() -> pd.DataFrame:
    """The table `concept`."""
    known = [(entry.concept, entry.name, entry.domain, "Invented") for entry in _entries()]
    for domain, named in (
        ("Gender", GENDERS),
        ("Race", RACES),
        ("Ethnicity", ETHNICITIES),
        ("Visit", VISITS),
        ("Type Concept", {RECORD: "EHR"}),
        ("Metadata", {NO_CONCEPT: "No matching concept"}),
    ):
        known += ((concept, name, domain, "OMOP") for concept, name in named.items())
    table = pd.DataFrame(known, columns=["concept_id", "concept_name", "domain_id", "vocabulary_id"])
    return table.assign(
        concept_class_id=table["domain_id"],
        standard_concept=table["concept_id"].map(lambda concept: "S" if concept != NO_CONCEPT else None),
        concept_code=table["concept_id"].astype(str),
        valid_start_date=pd.Timestamp("1970-01-01"),
        valid_end_date=pd.Timestamp("2099-12-31"),
        invalid_reason=None,
    )


def ancestors() -> pd.DataFrame:
    """The table `concept_ancestor`: each concept is an ancestor of itself too."""
    rows = [
        (above, entry.concept, levels, levels)
        for entry in _entries()
        if entry.domain != "Unit"
        for levels, above in enumerate((entry.concept, *entry.above))
    ]
    return pd.DataFrame(
        rows,
        columns=[
            "ancestor_concept_id",
            "descendant_concept_id",
            "min_levels_of_separation",
            "max_levels_of_separation",
        ],
    )
