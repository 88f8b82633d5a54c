"""What the made-up people fall ill with, and what follows: visits, drugs, measurements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Illness:
    """A condition.

    Attributes:
        name: of its concept.
        base: of a lasting one, log-odds of a man of 50 to have it; of a passing one, its weight among these.
        per_decade: what ten years of age add to log-odds, or to the logarithm of the weight.
        female: what they add for women.
        winter: what winter adds to the logarithm of the weight.
        emergency: chance that a visit for it is one to the emergency room.
        inpatient: chance of a stay in hospital.
        drugs: name of each -> chance that it is given, and days for which it is.
        measured: names of the measurements that a visit for it may have.
    """

    name: str
    base: float
    per_decade: float = 0.0
    female: float = 0.0
    winter: float = 0.0
    emergency: float = 0.05
    inpatient: float = 0.03
    drugs: tuple[tuple[str, float, int], ...] = ()
    measured: tuple[str, ...] = ()


_LIPIDS = ("Total cholesterol", "LDL cholesterol", "HDL cholesterol")
_KIDNEYS = ("Creatinine", "Filtration rate")
_INFLAMED = ("Body temperature", "C-reactive protein")
_STATIN = ("Simvastatin", 0.4, 90)

LASTING = (
    Illness(
        "Essential hypertension",
        -0.9,
        0.65,
        -0.1,
        measured=("Creatinine",),
        drugs=(("Ramipril", 0.45, 90), ("Hydrochlorothiazide", 0.25, 90), ("Bisoprolol", 0.2, 90)),
    ),
    Illness(
        "Stable angina",
        -3.2,
        0.8,
        -0.7,
        emergency=0.15,
        inpatient=0.12,
        measured=(*_LIPIDS, "Heart rate"),
        drugs=(("Metoprolol", 0.5, 90), ("Atorvastatin", 0.6, 90)),
    ),
    Illness(
        "Chronic heart failure",
        -4.2,
        1.0,
        -0.2,
        emergency=0.15,
        inpatient=0.25,
        measured=("Natriuretic peptide", *_KIDNEYS),
        drugs=(("Furosemide", 0.7, 30), ("Lisinopril", 0.4, 90)),
    ),
    Illness(
        "Atrial fibrillation",
        -3.8,
        1.0,
        -0.3,
        emergency=0.15,
        inpatient=0.1,
        measured=("Heart rate",),
        drugs=(("Apixaban", 0.5, 90), ("Warfarin", 0.25, 30), ("Bisoprolol", 0.4, 90)),
    ),
    Illness(
        "Type 2 diabetes",
        -2.0,
        0.5,
        -0.3,
        measured=("Haemoglobin A1c", "Glucose in blood", *_KIDNEYS),
        drugs=(("Metformin", 0.6, 90), ("Gliclazide", 0.2, 90), ("Insulin glargine", 0.15, 30)),
    ),
    Illness(
        "Hypercholesterolaemia", -1.2, 0.4, 0.0, measured=_LIPIDS, drugs=(_STATIN, ("Atorvastatin", 0.3, 90))
    ),
    Illness(
        "Hypothyroidism", -3.0, 0.25, 1.5, measured=("Thyrotropin",), drugs=(("Levothyroxine", 0.8, 90),)
    ),
    Illness(
        "Asthma",
        -2.4,
        -0.1,
        0.2,
        winter=0.3,
        emergency=0.15,
        measured=(),
        drugs=(("Salbutamol", 0.6, 30), ("Budesonide", 0.4, 30)),
    ),
    Illness(
        "Chronic obstructive pulmonary disease",
        -3.2,
        0.7,
        -0.3,
        winter=0.4,
        emergency=0.15,
        inpatient=0.15,
        measured=("C-reactive protein",),
        drugs=(("Tiotropium", 0.6, 30), ("Salbutamol", 0.4, 30)),
    ),
    Illness(
        "Arthrosis of the knee", -1.9, 0.7, 0.4, drugs=(("Ibuprofen", 0.4, 20), ("Paracetamol", 0.3, 20))
    ),
    Illness("Depression", -2.0, 0.0, 0.6, drugs=(("Sertraline", 0.4, 30), ("Citalopram", 0.3, 30))),
    Illness("Alzheimer's disease", -7.0, 1.6, 0.2, inpatient=0.06, drugs=(("Donepezil", 0.5, 30),)),
    Illness(
        "Chronic kidney disease stage 3",
        -3.4,
        0.9,
        0.1,
        inpatient=0.06,
        measured=(*_KIDNEYS, "Haemoglobin"),
        drugs=(("Furosemide", 0.25, 30),),
    ),
    Illness(
        "Cancer of the breast",
        -7.0,
        0.3,
        4.0,
        inpatient=0.2,
        measured=("Haemoglobin",),
        drugs=(("Tamoxifen", 0.6, 90),),
    ),
    Illness(
        "Cancer of the prostate",
        -3.6,
        0.9,
        -20.0,
        inpatient=0.15,
        measured=("Haemoglobin",),
        drugs=(("Bicalutamide", 0.5, 30),),
    ),
)
"""Conditions that stay, and come back at visits."""

PASSING = (
    Illness(
        "Common cold",
        2.0,
        -0.25,
        0.1,
        winter=0.9,
        measured=("Body temperature",),
        drugs=(("Paracetamol", 0.3, 5),),
    ),
    Illness(
        "Acute bronchitis", 0.9, 0.0, 0.0, winter=0.9, measured=_INFLAMED, drugs=(("Amoxicillin", 0.4, 7),)
    ),
    Illness(
        "Influenza",
        0.3,
        -0.1,
        0.0,
        winter=2.0,
        measured=("Body temperature",),
        drugs=(("Paracetamol", 0.5, 5),),
    ),
    Illness(
        "Bacterial pneumonia",
        -0.9,
        0.4,
        -0.2,
        winter=0.9,
        emergency=0.35,
        inpatient=0.35,
        measured=_INFLAMED,
        drugs=(("Amoxicillin", 0.6, 7), ("Azithromycin", 0.3, 5)),
    ),
    Illness("Low back pain", 1.3, 0.15, 0.0, drugs=(("Ibuprofen", 0.5, 10), ("Tramadol", 0.1, 7))),
    Illness(
        "Fracture of the wrist",
        -0.7,
        0.25,
        0.4,
        emergency=0.7,
        inpatient=0.15,
        drugs=(("Paracetamol", 0.6, 10),),
    ),
    Illness("Sprain of the ankle", 0.5, -0.35, -0.1, emergency=0.5, drugs=(("Ibuprofen", 0.5, 5),)),
    Illness("Reflux", 0.7, 0.15, 0.0, drugs=(("Omeprazole", 0.7, 30),)),
    Illness("Viral gastroenteritis", 0.9, -0.25, 0.0, emergency=0.15, measured=("Body temperature",)),
    Illness(
        "Cystitis",
        0.2,
        0.1,
        1.8,
        measured=("C-reactive protein",),
        drugs=(("Nitrofurantoin", 0.6, 5), ("Penicillin V", 0.15, 7)),
    ),
    Illness(
        "Myocardial infarction",
        -2.2,
        0.7,
        -0.8,
        emergency=0.6,
        inpatient=0.4,
        measured=("Heart rate", *_LIPIDS),
        drugs=(("Atorvastatin", 0.8, 90), ("Metoprolol", 0.7, 90)),
    ),
    Illness("Anxiety", 0.6, -0.1, 0.4, emergency=0.08, drugs=(("Sertraline", 0.25, 30),)),
)
"""Conditions that pass."""

VITAL = {
    "Systolic blood pressure": 0.6,
    "Diastolic blood pressure": 0.6,
    "Heart rate": 0.25,
    "Body mass index": 0.2,
}
"""Measurements at any visit, with their chances."""


@dataclass(frozen=True)
class Values:
    """How a measurement's values arise.

    Attributes:
        mean: of a man of 50 without conditions.
        spread: standard deviation, half of its square between people.
        per_decade: what ten years of age add.
        female: what they add for women.
        shifts: what a lasting condition adds, by its name.
        passing: what a passing one that the visit is about adds.
    """

    mean: float
    spread: float
    per_decade: float = 0.0
    female: float = 0.0
    shifts: tuple[tuple[str, float], ...] = ()
    passing: tuple[tuple[str, float], ...] = ()


VALUES = {
    "Systolic blood pressure": Values(
        124, 13, 4, -4, (("Essential hypertension", 18), ("Chronic heart failure", -8))
    ),
    "Diastolic blood pressure": Values(77, 8, 0.5, -2, (("Essential hypertension", 9),)),
    "Heart rate": Values(72, 9, 0, 3, (("Atrial fibrillation", 14),), (("Myocardial infarction", 15),)),
    "Body temperature": Values(
        36.7, 0.35, passing=(("Influenza", 1.9), ("Bacterial pneumonia", 1.8), ("Common cold", 0.5))
    ),
    "Body mass index": Values(26, 4, 0.3, -0.5, (("Type 2 diabetes", 4), ("Arthrosis of the knee", 2))),
    "Glucose in blood": Values(5.3, 0.7, 0.1, 0, (("Type 2 diabetes", 3.5),)),
    "Haemoglobin A1c": Values(5.5, 0.4, 0.07, 0, (("Type 2 diabetes", 1.9),)),
    "Total cholesterol": Values(5.0, 0.8, 0.1, 0.1, (("Hypercholesterolaemia", 1.2),)),
    "LDL cholesterol": Values(3.0, 0.7, 0.08, 0, (("Hypercholesterolaemia", 1.1),)),
    "HDL cholesterol": Values(1.3, 0.3, 0, 0.3, (("Type 2 diabetes", -0.15),)),
    "Creatinine": Values(
        80, 13, 3, -15, (("Chronic kidney disease stage 3", 70), ("Chronic heart failure", 20))
    ),
    "Filtration rate": Values(95, 12, -8, 0, (("Chronic kidney disease stage 3", -38),)),
    "Haemoglobin": Values(
        150, 10, -2, -14, (("Chronic kidney disease stage 3", -20), ("Cancer of the prostate", -12))
    ),
    "C-reactive protein": Values(
        6, 5, 0.5, 0, (), (("Bacterial pneumonia", 120), ("Acute bronchitis", 25), ("Cystitis", 20))
    ),
    "Natriuretic peptide": Values(150, 120, 60, 0, (("Chronic heart failure", 1700),)),
    "Thyrotropin": Values(2.1, 0.9, 0, 0, (("Hypothyroidism", 3.5),)),
}
"""For each measurement, how its values arise."""
