RELEASE_ID = "5e1ec7ed" * 4


def id_of(number):
    """An id of a release, another one for each number."""
    return f"{number:032x}"
