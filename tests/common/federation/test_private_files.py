"""Private files are there whole, whoever else writes them."""

import pytest

from dpmosaic.common.federation.private_files import private_draft


def test_a_first_writer_does_not_put_half_of_a_second_one_in_place(tmp_path):
    path = tmp_path / "key"
    first, second = private_draft(path), private_draft(path)
    first.__enter__().write(b"all of the first")
    file = second.__enter__()
    file.write(b"half")
    with pytest.raises(BlockingIOError, match="another process"):
        first.__exit__(None, None, None)
    assert not path.exists()
    file.write(b" and all")
    second.__exit__(None, None, None)
    assert path.read_bytes() == b"half and all"
    assert [one.name for one in tmp_path.iterdir()] == ["key"]
