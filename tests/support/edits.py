"""Changes of plans and policies, as their writers make them."""


def edited(text, changes):
    """A text with each of these parts replaced; every part has to be there."""
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def edit(path, changes):
    """Changes a file; see `edited`."""
    path.write_text(edited(path.read_text(), changes))
