"""Random changes of JSON values, arrays and bytes, as a stranger or a broken disk makes them."""

import copy

import numpy as np

OTHER_VALUES = [
    *(None, True, -1, 0, 10**290, -(10**290), 2**63, 1e300, 5e-324, 0.5, "", "auto", "\x1b[2K\u202e"),
    *([], {}, [[]], [None], ["a", "a"], {"a": 1}, {"type": "numeric"}, "x" * 20_000, "%Y" * 60),
    *("0001-01-01", "9999-12-31T23:59:59.999999", "%0999999d", "P-{:0499999999d}", "{:.9f}" * 30),
    *("../../etc/passwd", "2020-01-01T00:00+25:00", list(range(3)), "1e99999999"),
]


def with_other_values(form):
    """Copies of a JSON value in which one value, at any depth, is another one."""
    yield from OTHER_VALUES
    if isinstance(form, (dict, list)):
        for key in form if isinstance(form, dict) else range(len(form)):
            for other in with_other_values(form[key]):
                changed = form.copy()
                changed[key] = other
                yield changed


def changed_value(form, rng):
    """A JSON value in which one value at any depth is changed, moved, doubled, added or left out."""
    changed = copy.deepcopy(form)
    holder, key = rng.choice([*_places(changed)])
    value = holder[key]
    match rng.randrange(8):
        case 0:
            del holder[key]
        case 1:
            there, other = rng.choice([*_places(form)])
            holder[key] = copy.deepcopy(there[other])
        case 2 if isinstance(value, (list, dict)):
            holder[key] = _shuffled(value, rng)
        case 3 if isinstance(value, (int, float)):
            holder[key] = rng.choice([value + 1, -value, value / 3, float(value), value * 1e6, str(value)])
        case 4 if isinstance(value, str) and value:
            at = rng.randrange(len(value))
            holder[key] = value[:at] + rng.choice("0123456789abcdef/ .") + value[at + 1 :]
        case 5 if isinstance(holder, list):
            holder.append(copy.deepcopy(value))
        case 6 if isinstance(value, dict):
            value[rng.choice(["note", "__proto__", "steps", ""])] = copy.deepcopy(rng.choice(OTHER_VALUES))
        case _:
            holder[key] = copy.deepcopy(rng.choice(OTHER_VALUES))
    return changed


def changed_arrays(arrays, rng):
    """Arrays of which one is of other numbers, another shape or kind, or is left out."""
    name = rng.choice(sorted(arrays))
    array = arrays[name].copy()
    match rng.randrange(7):
        case 0 if array.size:
            array = array.astype(float)
            array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -1, 1e300, -1e300, 0])
        case 1 if array.ndim:
            array = array[: rng.randrange(len(array) + 1)]
        case 2:
            array = np.zeros_like(array)
        case 3:
            array = array.astype(rng.choice([np.int8, np.int64, np.float32, np.bool_]))
        case 4:
            array = array.reshape(-1, 1)
        case 5:
            return {other: one for other, one in arrays.items() if other != name}
        case _:
            array = array * rng.choice([1e-300, 1e200, 3])
    return arrays | {name: array}


def changed_bytes(content, rng):
    """Bytes of which some are others, are cut out or put in."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 5, 50])):
        at = rng.randrange(len(changed))
        match rng.randrange(3):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                del changed[at : at + rng.randrange(1, 30)]
            case _:
                changed[at:at] = rng.choice([b'"', b"\n", b",", b"\0", b"\xff", b"NaN", b"1e999", b"9" * 400])
    return bytes(changed)


def _places(form):
    """Every holder of a value, and under which key it has it."""
    for key in form if isinstance(form, dict) else range(len(form)):
        yield form, key
        if isinstance(form[key], (dict, list)):
            yield from _places(form[key])


def _shuffled(value, rng):
    parts = [*(value.items() if isinstance(value, dict) else value)]
    rng.shuffle(parts)
    return dict(parts) if isinstance(value, dict) else parts
