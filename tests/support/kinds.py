"""Random attributes of every kind, and random values for them."""

import datetime as dt

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

NAMES = "abcdef"
ZONES = ("Europe/Berlin", "Asia/Kolkata", "UTC")
FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%d %b %Y")
ON_WORKDAYS = {"weekdays": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0]}
BY_DAY = {"hours": [0] * 8 + [0.1] * 8 + [0.025] * 8}
IN_QUARTERS = {"midnight": 0.3, "minutes": {"60": 0.5, "30": 0.2, "15": 0.2}}

days = st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31))
flags = st.booleans()


def _chosen(**options):
    """Some of the keys, each with one of its values."""
    return st.fixed_dictionaries(
        {}, optional={key: st.sampled_from(values) for key, values in options.items()}
    )


@st.composite
def codes(draw):
    return draw(st.integers(1, 300))


@st.composite
def categories(draw):
    category = st.one_of(st.text(max_size=4), st.integers(-99, 99), st.floats(-9, 9), st.booleans())
    listed = draw(st.lists(category, min_size=1, max_size=8))
    form = {"type": "categorical", "categories": listed} | draw(_chosen(ordered=[True, False]))
    texts = [category for category in listed if isinstance(category, str) and category]
    return form | (draw(_chosen(other=texts)) if texts else {})


@st.composite
def numbers(draw):
    number = draw(st.sampled_from([st.integers(-500, 500), st.decimals(-500, 500, places=2).map(float)]))
    bounds = sorted(draw(st.sets(number, min_size=2, max_size=6)))
    edged = draw(flags)
    form = {"edges": bounds} if edged else {"min": bounds[0], "max": bounds[-1]}
    form |= {} if edged else {"bins": draw(st.one_of(st.integers(1, 30), st.just("auto")))}
    form |= {"atoms": sorted(draw(st.sets(st.one_of(number, st.sampled_from(bounds)), max_size=3)))}
    form |= {"nullable": draw(flags), "type": "numeric"}
    return form | draw(
        _chosen(
            integer=[True, False],
            scale=["linear", "log", "symlog"],
            multiple_of=[1, 5, 0.01, 0.25],
            rounded=[
                [{"from": 0, "units": [10, 5], "shares": [0.5, 0.2]}],
                [{"from": 0, "units": [], "shares": []}, {"from": 30, "units": [50, 10], "shares": [0, 1]}],
            ],
            outside=["clip", "error", "missing"],
            unreadable=["error", "missing"],
            format=["{} %", "${:,}", "{:g}"],
            texts=[["<5"], ["n. d.", ">100", "tr\u00e8s peu"]],
        )
    )


@st.composite
def booleans(draw):
    spelled = draw(
        st.sampled_from([{}, {"true": ["Y", "yes"], "false": ["N"]}, {"true": [1], "false": [0, -1]}])
    )
    return {"type": "boolean", "nullable": draw(flags)} | spelled


def _rhythms(granularity):
    """Rhythms that times of a granularity can have."""
    fine = [ON_WORKDAYS, BY_DAY, IN_QUARTERS, ON_WORKDAYS | IN_QUARTERS]
    parts = {"day": [ON_WORKDAYS], "hour": [ON_WORKDAYS, BY_DAY], "minute": fine, "second": fine}
    return _chosen(**({"rhythm": parts[granularity]} if granularity in parts else {}))


@st.composite
def dates(draw, zones=ZONES):
    bounds = sorted(draw(st.sets(days, min_size=2, max_size=5)))
    form = {"type": draw(st.sampled_from(["date", "timestamp"])), "nullable": draw(flags)}
    timed = form["type"] == "timestamp"
    granularity = [
        "day",
        "week",
        "month",
        "quarter",
        "year",
        *(["second", "minute", "hour"] if timed else []),
    ]
    ends = {"min": bounds[0].isoformat(), "max": bounds[-1].isoformat()}
    divided = draw(st.sampled_from(["bins", "edges", "parts"]))
    if divided == "parts":
        assume((bounds[-1] - bounds[0]).days < 5000)
        parts = ["year", "quarter", "month", "day", "weekday", *(["hour"] if timed else [])]
        form |= ends | {"parts": draw(st.lists(st.sampled_from(parts), min_size=1, unique=True))}
    elif divided == "edges":
        form |= {"edges": [bound.isoformat() for bound in bounds]}
    else:
        form |= ends | {"bins": draw(st.one_of(st.integers(1, 30), st.just("auto")))}
    if divided != "parts":
        form["atoms"] = sorted(atom.isoformat() for atom in draw(st.sets(days, max_size=2)))
        form |= draw(_chosen(texts=[["ongoing"], ["n. d.", "2020-13"]]))
    form |= draw(_chosen(granularity=granularity, outside=["clip", "error", "missing"]))
    if divided != "parts":
        form |= draw(_rhythms(form.get("granularity", "second" if timed else "day")))
    return form | draw(_chosen(timezone=zones) if timed else _chosen(format=FORMATS))


@st.composite
def clocks(draw):
    form = draw(st.sampled_from(["HHMM", "HH:MM", "HH:MM:SS", "H:MM", "H:MM:SS", "MM:SS"]))
    minutes = sorted(draw(st.sets(st.integers(0, 3000), min_size=2, max_size=5)))
    bounds = [f"{minute // 60}:{minute % 60:02d}:00" for minute in minutes]
    divided = draw(st.sampled_from(["bins", "edges", "day"]))
    entry = {"type": "clock", "format": form, "nullable": draw(flags)}
    if divided == "edges":
        entry["edges"] = bounds
    else:
        entry["bins"] = draw(st.one_of(st.integers(1, 30), st.just("auto")))
    if divided == "bins":
        entry |= {"min": bounds[0], "max": bounds[-1]}
    return entry | draw(
        _chosen(
            outside=["clip", "error", "missing"],
            texts=[["unknown", "25"]],
            rhythm=[{"minutes": {"60": 0.6, "15": 0.4}}],
        )
    )


@st.composite
def domains(draw, most=6, zones=ZONES):
    """A domain of attributes of every kind."""
    entries = st.one_of(codes(), categories(), numbers(), booleans(), dates(zones), clocks())
    forms = draw(st.lists(entries, min_size=1, max_size=most))
    try:
        return Domain.from_json(dict(zip(NAMES, forms, strict=False)))
    except DataError:
        assume(False)


@st.composite
def tables(draw, most=6, zones=ZONES):
    """A domain, the codes of each attribute, all of them or many, and randomness."""
    domain = draw(domains(most, zones))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = max(20, *(min(size, 200) for size in domain.sizes))
    columns = {}
    for name, size in zip(domain, domain.sizes, strict=True):
        column = np.concatenate([rng.permutation(size), rng.integers(0, size, rows)])[:rows]
        columns[name] = rng.permutation(column)
    return domain, columns, rng


@st.composite
def following(draw, domain):
    """The domain with one or two more columns, which follow from one of its own."""
    held = [
        one
        for one in domain.attributes
        if isinstance(one, NumericAttribute | DateAttribute) and not one.texts and not one.open
    ]
    assume(held)
    of = draw(st.sampled_from(held))
    form = {"attributes": domain.to_json(), "rules": []}
    form["attributes"] = {name: form["attributes"][name] for name in domain.names}
    for column in ("follows", "follows too")[: draw(st.integers(1, 2))]:
        target, rule = draw(_steps(of) if isinstance(of, NumericAttribute) or draw(flags) else _part(of))
        form["attributes"][column] = target
        form["rules"].append({("column" if "part" in rule else "steps"): column, **rule, "of": of.name})
    try:
        return Domain.from_json(form)
    except DataError:
        assume(False)


@st.composite
def _steps(draw, of):
    if isinstance(of, DateAttribute):
        at = sorted(day.isoformat() for day in draw(st.sets(days, min_size=1, max_size=4)))
    else:
        low, high = of.ends
        shares = draw(st.sets(st.floats(0, 1), min_size=1, max_size=4))
        at = sorted({float(np.round(low + share * (high - low), 2)) for share in shares})
    values = draw(
        st.lists(st.sampled_from(["low", "mid", "high"]), min_size=len(at) + 1, max_size=len(at) + 1)
    )
    return [*dict.fromkeys(values), ""], {"at": at, "values": values}


@st.composite
def _part(draw, of):
    part = draw(st.sampled_from(["year", "quarter", "month", "week", "weekday", "day", "hour", "minute"]))
    if draw(flags):
        bounds = {"year": (1850, 2150)}.get(part, (0, 60))
        entry = {
            "type": "numeric",
            "min": bounds[0],
            "max": bounds[1],
            "integer": True,
            "nullable": draw(flags),
        }
        return entry | {"bins": draw(st.integers(1, 60))}, {"part": part}
    names = draw(st.lists(st.sampled_from("abc"), min_size=61, max_size=61))
    return ["c", "b", "a"], {"part": part, "map": {str(one): name for one, name in enumerate(names)}}
