"""Keys under a passphrase: who opens them, and what a killed command leaves."""

import itertools

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.federation import sealed_keys
from dpmosaic.common.federation.keyring import Keyring
from dpmosaic.common.federation.sealed_keys import (
    CREDENTIAL,
    IDENTITY,
    KEY_FILE,
    TLS_KEY,
    WRAPPED,
    decrypt,
    encrypt,
    new_passphrase,
)

OLD, NEW = b"correct horse battery", b"another passphrase"


class Killed(Exception):
    """The process ended here."""


@pytest.fixture(autouse=True)
def quick_guesses(monkeypatch):
    """The cost of a guess, lower than it is; the command's test has the real one."""
    monkeypatch.setitem(sealed_keys._SCRYPT, "n", 1 << 4)
    sealed_keys._unwrap.cache_clear()


@pytest.fixture
def made(tmp_path):
    return Keyring.create(tmp_path / "clinic", "clinic")


@pytest.fixture
def give(tmp_path, monkeypatch):
    """Puts a passphrase where the next process finds it."""

    def given(passphrase):
        file = tmp_path / "passphrase"
        file.touch(mode=0o600)
        file.write_bytes(passphrase + b"\n")
        monkeypatch.setenv(KEY_FILE, str(file))
        sealed_keys._unwrap.cache_clear()
        return file

    return given


def same(one, other):
    """Whether two keyrings hold the same secrets."""
    return (one.identity.public, one.tls_key) == (other.identity.public, other.tls_key)


def texts(keyring):
    return b"".join(path.read_bytes() for path in keyring.folder.rglob("*") if path.is_file())


def test_encrypted_keys_are_opened_by_their_passphrase_and_no_file_shows_them(made, give):
    secrets = [(made.folder / name).read_bytes() for name in (IDENTITY, TLS_KEY)]
    encrypt(made.folder, OLD)
    give(OLD)
    assert same(Keyring.load(made.folder.parent), made)
    for secret in (*secrets, bytes.fromhex(secrets[0].decode()), OLD):
        assert secret.strip() not in texts(made)
    for path in made.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("passphrase", [NEW, OLD + b" ", OLD[:-1], b""])
def test_another_passphrase_is_told_in_one_sentence(made, give, passphrase):
    encrypt(made.folder, OLD)
    give(passphrase)
    with pytest.raises(DataError, match="the passphrase does not open the keys in"):
        Keyring.load(made.folder.parent)


def test_without_a_passphrase_the_message_says_where_it_may_be(made, monkeypatch):
    encrypt(made.folder, OLD)
    monkeypatch.delenv(KEY_FILE, raising=False)
    with pytest.raises(DataError, match=f"{KEY_FILE} names, in the credential {CREDENTIAL}"):
        Keyring.load(made.folder.parent)


def test_a_credential_of_systemd_opens_them(made, tmp_path, monkeypatch):
    encrypt(made.folder, OLD)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / CREDENTIAL).touch(mode=0o440)
    (tmp_path / CREDENTIAL).write_bytes(OLD)
    assert same(Keyring.load(made.folder.parent), made)


def test_whoever_sits_at_the_terminal_is_asked_once(made, monkeypatch):
    asked = []
    encrypt(made.folder, OLD)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(sealed_keys, "_ask", lambda words, confirm: asked.append(words) or OLD)
    for _ in range(2):
        assert same(Keyring.load(made.folder.parent), made)
    assert len(asked) == 1


def test_a_changed_passphrase_takes_the_place_of_the_former_one(made, give):
    encrypt(made.folder, OLD)
    give(OLD)
    encrypt(made.folder, NEW)
    give(OLD)
    with pytest.raises(DataError, match="does not open"):
        Keyring.load(made.folder.parent)
    give(NEW)
    assert same(Keyring.load(made.folder.parent), made)


def test_a_new_identity_is_encrypted_as_the_former_one_was(made, give):
    encrypt(made.folder, OLD)
    give(OLD)
    rotated = Keyring.load(made.folder.parent).rotate("party", recounted=False)
    assert rotated.identity.public != made.identity.public
    sealed_keys._unwrap.cache_clear()
    assert same(Keyring.load(made.folder.parent), rotated)
    give(NEW)
    with pytest.raises(DataError, match="does not open"):
        Keyring.load(made.folder.parent)


def test_decrypted_keys_need_no_passphrase(made, give, monkeypatch):
    encrypt(made.folder, OLD)
    give(OLD)
    decrypt(made.folder)
    monkeypatch.delenv(KEY_FILE)
    assert same(Keyring.load(made.folder.parent), made)
    assert not (made.folder / WRAPPED).exists()
    with pytest.raises(DataError, match="not encrypted"):
        decrypt(made.folder)


@pytest.fixture
def kill(monkeypatch):
    """Runs a command that is killed before its write of this number; whether it came so far."""

    def run(command, step):
        writes, write = itertools.count(), sealed_keys.write_private

        def killed(path, content):
            if next(writes) == step:
                raise Killed
            write(path, content)

        with monkeypatch.context() as patched:
            patched.setattr(sealed_keys, "write_private", killed)
            try:
                command()
            except Killed:
                return True
        return False

    return run


@pytest.mark.parametrize("step", range(3))
def test_a_killed_encryption_leaves_keys_that_are_read_and_the_next_one_completes_it(made, give, kill, step):
    give(OLD)
    assert kill(lambda: encrypt(made.folder, OLD), step)
    assert same(Keyring.load(made.folder.parent), made)
    encrypt(made.folder, OLD)
    assert (made.folder / TLS_KEY).read_bytes() != made.tls_key
    assert same(Keyring.load(made.folder.parent), made)


@pytest.mark.parametrize("step", range(2))
def test_a_killed_decryption_leaves_keys_that_are_read_and_the_next_one_completes_it(made, give, kill, step):
    encrypt(made.folder, OLD)
    give(OLD)
    assert kill(lambda: decrypt(made.folder), step)
    assert same(Keyring.load(made.folder.parent), made)
    decrypt(made.folder)
    assert (made.folder / TLS_KEY).read_bytes() == made.tls_key


def test_a_change_of_the_passphrase_is_one_write_so_that_one_of_both_opens(made, give, kill):
    encrypt(made.folder, OLD)
    give(OLD)
    assert kill(lambda: encrypt(made.folder, NEW), 0)
    assert same(Keyring.load(made.folder.parent), made)
    assert not kill(lambda: encrypt(made.folder, NEW), 1)
    give(NEW)
    assert same(Keyring.load(made.folder.parent), made)


@pytest.mark.parametrize("name", [IDENTITY, TLS_KEY])
@pytest.mark.parametrize("place", [20, -1])
def test_an_altered_file_is_told(made, give, name, place):
    encrypt(made.folder, OLD)
    give(OLD)
    content = bytearray((made.folder / name).read_bytes())
    content[place] ^= 1
    (made.folder / name).write_bytes(bytes(content))
    with pytest.raises(DataError, match=f"{name} is damaged"):
        Keyring.load(made.folder.parent)


def test_a_secret_in_the_place_of_another_is_told(made, give):
    encrypt(made.folder, OLD)
    give(OLD)
    (made.folder / IDENTITY).write_bytes((made.folder / TLS_KEY).read_bytes())
    with pytest.raises(DataError, match=f"{IDENTITY} is damaged"):
        Keyring.load(made.folder.parent)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"format": "dpmosaic keys 1", "scrypt": {"n": 1e9}}'])
def test_a_damaged_key_of_the_encryption_is_told(made, give, text):
    encrypt(made.folder, OLD)
    give(OLD)
    (made.folder / WRAPPED).write_bytes(text)
    with pytest.raises(DataError, match=f"{WRAPPED} is damaged"):
        Keyring.load(made.folder.parent)


def test_a_passphrase_that_is_short_open_to_others_or_of_several_lines_is_refused(made, give, tmp_path):
    with pytest.raises(DataError, match="12 characters"):
        encrypt(made.folder, b"short")
    assert not (made.folder / WRAPPED).exists()
    file = give(OLD)
    file.chmod(0o644)
    with pytest.raises(DataError, match="chmod"):
        new_passphrase(file)
    file.chmod(0o600)
    file.write_bytes(OLD + b"\n" + NEW)
    with pytest.raises(DataError, match="one line"):
        new_passphrase(file)
    with pytest.raises(DataError, match="No such file"):
        new_passphrase(tmp_path / "nothing")
    with pytest.raises(DataError, match="--new-key-file"):
        new_passphrase(None)
