"""What happens at the visits of made-up people: conditions, the drugs that follow them, measurements."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .illness import LASTING, VALUES, VITAL
from .model import INPATIENT, RECORD
from .people import ILLNESSES, Days, People, Visits, at
from .vocabulary import Ranged, concept_named, ranges

Numbers = NDArray[np.float64]

_NOTED, _NOTED_INPATIENT = 0.3, 0.65
"""Chances that a lasting condition which a visit is not about is noted."""

_MEASURED = 0.5
_WITHOUT_VISIT = 0.02


def conditions_at(visits: Visits, people: People, rng: np.random.Generator) -> pd.DataFrame:
    """The rows of `condition_occurrence`, with the row of the visit and the place in `ILLNESSES` beside them.

    Args:
        visits: the visits.
        people: whose they are.
        rng: draws rows.
    """
    count = len(visits.who)
    noted = visits.active & (
        rng.random(visits.active.shape)
        < np.where(visits.kind == INPATIENT, _NOTED_INPATIENT, _NOTED)[:, None]
    )
    main = np.arange(count)
    lasting = main[visits.reason < len(LASTING)]
    noted[lasting, visits.reason[lasting]] = False
    others, which = np.nonzero(noted)
    visit = np.concatenate([main, others])
    illness = np.concatenate([visits.reason, which])
    order = np.argsort(visit, kind="stable")
    visit, illness = visit[order], illness[order]
    stay = visits.end[visit] - visits.day[visit]
    first = np.append(True, visit[1:] != visit[:-1])[: len(visit)]
    day = visits.day[visit] + np.where(
        first, 0, np.floor(rng.random(len(visit)) * (stay + 1)).astype(np.int64)
    )
    passes = illness >= len(LASTING)
    end = np.minimum(day + rng.integers(3, 25, len(visit)), visits.until[visit])
    concept = np.array([concept_named(one.name) for one in ILLNESSES])
    return pd.DataFrame(
        {
            "condition_occurrence_id": np.arange(1, len(visit) + 1),
            "person_id": visits.who[visit] + 1,
            "condition_concept_id": concept[illness],
            "condition_start_date": at(day),
            "condition_end_date": pd.Series(at(end)).where(passes),
            "condition_type_concept_id": RECORD,
            "visit_occurrence_id": visit + 1,
            "condition_source_value": [f"code {number}" for number in illness],
            "illness": illness,
            "visit": visit,
        }
    )


def drugs_for(conditions: pd.DataFrame, visits: Visits, rng: np.random.Generator) -> pd.DataFrame:
    """The rows of `drug_exposure`: what is given for conditions.

    Args:
        conditions: see `conditions_at`.
        visits: their visits.
        rng: draws rows.
    """
    parts = []
    for place, one in enumerate(ILLNESSES):
        rows = np.flatnonzero(conditions["illness"] == place)
        for name, chance, days in one.drugs:
            given = rows[rng.random(len(rows)) < chance]
            parts.append((given, np.full(len(given), concept_named(name)), np.full(len(given), days)))
    given, drug, supply = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(given, kind="stable")
    given, drug, supply = given[order], drug[order], supply[order]
    found = conditions.iloc[given]
    visit = found["visit"].to_numpy()
    start = found["condition_start_date"].to_numpy()
    end = np.minimum(start + (supply - 1).astype("timedelta64[D]"), at(visits.until[visit]))
    return pd.DataFrame(
        {
            "drug_exposure_id": np.arange(1, len(given) + 1),
            "person_id": found["person_id"].to_numpy(),
            "drug_concept_id": drug,
            "drug_exposure_start_date": start,
            "drug_exposure_end_date": end,
            "drug_type_concept_id": RECORD,
            "days_supply": supply,
            "visit_occurrence_id": visit + 1,
            "sig": "as directed",
        }
    )


def measurements_at(
    conditions: pd.DataFrame, visits: Visits, people: People, rng: np.random.Generator
) -> pd.DataFrame:
    """The rows of `measurement`: signs at any visit, and what conditions ask for.

    Args:
        conditions: see `conditions_at`.
        visits: their visits.
        people: whose they are.
        rng: draws rows.
    """
    count = len(visits.who)
    names = list(VALUES)
    taken = np.zeros((count, len(names)), dtype=np.bool_)
    for name, chance in VITAL.items():
        taken[:, names.index(name)] = rng.random(count) < chance
    for place, one in enumerate(ILLNESSES):
        rows = conditions["visit"].to_numpy()[conditions["illness"] == place]
        for name in one.measured:
            taken[rows[rng.random(len(rows)) < _MEASURED], names.index(name)] = True
    visit, which = np.nonzero(taken)
    value = np.zeros(len(visit))
    for place, name in enumerate(names):
        rows = which == place
        value[rows] = _values(name, ranges()[concept_named(name)], visit[rows], visits, people, rng)
    known = [ranges()[concept_named(name)] for name in names]
    stay = visits.end[visit] - visits.day[visit]
    day = visits.day[visit] + np.floor(rng.random(len(visit)) * (stay + 1)).astype(np.int64)
    alone = rng.random(len(visit)) < _WITHOUT_VISIT
    return pd.DataFrame(
        {
            "measurement_id": np.arange(1, len(visit) + 1),
            "person_id": visits.who[visit] + 1,
            "measurement_concept_id": np.array([concept_named(name) for name in names])[which],
            "measurement_date": at(day),
            "measurement_type_concept_id": RECORD,
            "value_as_number": value,
            "unit_concept_id": np.array([one.unit for one in known])[which],
            "visit_occurrence_id": pd.Series(visit + 1, dtype="Int64").mask(alone),
            "measurement_source_value": np.array(names)[which],
        }
    )


def _values(
    name: str, known: Ranged, visit: Days, visits: Visits, people: People, rng: np.random.Generator
) -> Numbers:
    """The values of one measurement at visits, shape (rows,): people have levels of their own."""
    one, who = VALUES[name], visits.who[visit]
    own = rng.normal(0, one.spread * 0.5**0.5, len(people.born))
    value = one.mean + own[who] + rng.normal(0, one.spread * 0.5**0.5, len(visit))
    value += one.per_decade * people.decades(visits.day[visit], who) + one.female * people.female[who]
    names = [illness.name for illness in ILLNESSES]
    for illness, shift in one.shifts:
        value += shift * visits.active[visit, names.index(illness)]
    for illness, shift in one.passing:
        value += shift * (visits.reason[visit] == names.index(illness)) * rng.uniform(0.5, 1.5, len(visit))
    return np.asarray(np.round(np.clip(value, known.low, known.high), known.decimals), dtype=np.float64)
