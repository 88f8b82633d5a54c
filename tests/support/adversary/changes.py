"""Other values of any field of any message, chosen by its description."""

from collections import defaultdict

from google.protobuf.descriptor import FieldDescriptor

EXTREMES = (0, 1, 2, 3, 7, 255, 2**31 - 1)


def leaves(message, path=()):
    """Every field at any depth that is no message: its owner, its description, and its name at the top."""
    for field in message.DESCRIPTOR.fields:
        first = (*path, field.name)
        value = getattr(message, field.name)
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            yield message, field, first[0]
            continue
        if field.is_repeated:
            yield message, field, first[0]
        elif not message.HasField(field.name):
            continue
        for inner in value if field.is_repeated else [value]:
            yield from leaves(inner, first)


class Changes:
    """Changes of one field at a time, often to what another message has in that field.

    Args:
        messages: messages whose values are known.
        rng: of all choices.
    """

    def __init__(self, messages, rng):
        self._known, self._rng = defaultdict(list), rng
        for message in messages:
            for owner, field, _ in leaves(message):
                value = getattr(owner, field.name)
                self._known[field.full_name].append(list(value) if field.is_repeated else value)

    def __call__(self, message):
        """Changes the message; the name of the field of the message that is concerned."""
        found = list(leaves(message))
        if not found:
            return set()
        owner, field, first = found[int(self._rng.integers(len(found)))]
        known = self._known[field.full_name]
        if known and self._rng.random() < 0.7:
            value = known[int(self._rng.integers(len(known)))]
        else:
            value = self._other(field, getattr(owner, field.name))
        owner.ClearField(field.name)
        if not field.is_repeated:
            setattr(owner, field.name, value)
        else:
            getattr(owner, field.name).extend(value)
        return {first}

    def _other(self, field, value):
        rng = self._rng
        if field.is_repeated:
            values = list(value)
            order = rng.permutation(len(values))[: int(rng.integers(len(values) + 1))]
            return [values[i] for i in order]
        match field.cpp_type:
            case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
                return rng.bytes(len(value) or 32)
            case FieldDescriptor.CPPTYPE_STRING:
                return value + "x"
            case FieldDescriptor.CPPTYPE_BOOL:
                return not value
            case FieldDescriptor.CPPTYPE_DOUBLE:
                return value * float(rng.choice([0.5, 2.0, 1 + 2.0**-30]))
            case FieldDescriptor.CPPTYPE_ENUM:
                return int(rng.choice([one.number for one in field.enum_type.values]))
        return int(rng.choice(EXTREMES))
