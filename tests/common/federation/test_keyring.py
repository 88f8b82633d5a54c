import os
import stat
from datetime import UTC, datetime

import pytest

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.errors import DataError
from dpmosaic.common.federation.keyring import FOLDER, Keyring
from dpmosaic.common.federation.private_files import private_draft, private_file, write_private


def test_new_keys_are_loaded_again_and_only_their_owner_can_read_them(tmp_path):
    made = Keyring.create(tmp_path / "home", "clinic")
    again = Keyring.load(tmp_path / "home")
    assert (again.name, again.tls_key) == ("clinic", made.tls_key)
    assert again.identity.public == made.identity.public
    assert again.certificate.is_of(made.tls_key)
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700


def test_refuses_to_replace_the_keys_of_a_folder(tmp_path):
    Keyring.create(tmp_path, "clinic")
    with pytest.raises(DataError, match="keys already"):
        Keyring.create(tmp_path, "clinic")


def test_an_authority_may_sign_the_certificate(tmp_path):
    made = Keyring.create(tmp_path, "clinic", request=True)
    assert b"CERTIFICATE REQUEST" in (made.folder / "tls.csr").read_bytes()
    with pytest.raises(DataError, match=r"tls\.crt is missing"):
        assert made.certificate
    (made.folder / "tls.crt").write_bytes(self_signed("other", made.tls_key, datetime.now(UTC)).pem)
    assert made.certificate.host == "other.dpmosaic"


def test_the_certificate_of_another_key_is_refused(tmp_path):
    made = Keyring.create(tmp_path, "clinic")
    (made.folder / "tls.crt").write_bytes(self_signed("clinic", new_tls_key(), datetime.now(UTC)).pem)
    with pytest.raises(DataError, match="does not belong to"):
        assert made.certificate


def test_keys_that_other_users_can_read_are_refused(tmp_path):
    made = Keyring.create(tmp_path, "clinic")
    (made.folder / "identity.key").chmod(0o640)
    with pytest.raises(DataError, match="chmod 600"):
        Keyring.load(tmp_path)


def test_a_damaged_identity_is_refused(tmp_path):
    made = Keyring.create(tmp_path, "clinic")
    write_private(made.folder / "identity.key", b"zz")
    with pytest.raises(DataError, match="damaged"):
        Keyring.load(tmp_path)


def test_a_folder_without_keys_is_refused(tmp_path):
    with pytest.raises(DataError, match="run init"):
        Keyring.load(tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        Keyring.create(tmp_path / "file", "clinic")


def test_a_private_file_keeps_what_it_holds(tmp_path):
    path = private_file(tmp_path / "ledger")
    path.write_text("entry")
    assert private_file(path).read_text() == "entry"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize("other", ["2", ""])
def test_a_folder_of_another_format_or_of_none_is_refused(tmp_path, other):
    Keyring.create(tmp_path / "home", "clinic")
    stated = tmp_path / "home" / "format"
    assert stated.read_text() == "1"
    stated.write_text(other) if other else stated.unlink()
    with pytest.raises(
        DataError, match=rf"expected a folder of format 1, found format .{other}. in .*format; install"
    ):
        Keyring.load(tmp_path / "home")


@pytest.mark.parametrize("planted", ["file", "link", "link to nothing"])
def test_what_lies_in_the_way_of_a_private_file_is_not_written_into(tmp_path, planted):
    in_the_way, other = tmp_path / "key.new", tmp_path / "other"
    if planted == "file":
        in_the_way.touch(mode=0o666)
        in_the_way.chmod(0o666)
    else:
        in_the_way.symlink_to(other)
        if planted == "link":
            other.write_bytes(b"")
    write_private(tmp_path / "key", b"secret")
    assert (tmp_path / "key").read_bytes() == b"secret"
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "key").is_symlink()
    assert not other.exists() or other.read_bytes() == b""


def test_a_private_file_that_is_not_finished_leaves_nothing(tmp_path):
    with pytest.raises(KeyError), private_draft(tmp_path / "key"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_private_file_has_its_mode_whatever_the_mask_of_the_process(tmp_path):
    mask = os.umask(0o777)
    try:
        write_private(tmp_path / "key", b"secret")
    finally:
        os.umask(mask)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
