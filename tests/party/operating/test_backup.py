"""A party's folder is backed up while it is used, and made again from the backup."""

import contextlib
import io
import json
import stat
import tarfile
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError, PolicyError, ProtocolError
from dpmosaic.common.history import Mark
from dpmosaic.common.promises.statement import Claim
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.command import party_commands
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.names import REQUESTS
from dpmosaic.party.operating.backup import back_up, restore
from support.ledgers import DATA, HALF, KEY, OTHER, QUERY, SECRET, TERMS, anything
from support.terms import id_of, terms_of

QUARTER = Fraction(1, 4)
LATER = terms_of(id_of("later"))
INTRODUCTION = b"who takes part, encoded"


@pytest.fixture
def home(tmp_path):
    made = PartyHome.create(tmp_path / "clinic", "clinic")
    (made.folder / "policy.toml").write_text(
        '[source]\ndomain = "schema.json"\n[policy]\nlifetime_rho = 5.0\n'
    )
    (made.folder / "schema.json").write_text('{"a": 2}')
    (made.folder / "rows.csv").write_text("a\n0\n1\n")
    return PartyHome.open(made.folder)


@pytest.fixture
def ledger(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as opened:
        opened.reserve(TERMS, DATA, SECRET, anything)
        opened.introduce(TERMS.release_id, INTRODUCTION, b"keys", {})
        opened.charge(QUERY, HALF, DATA, KEY)
        opened.bind(TERMS.release_id, "answer", "q1", "a" * 64)
        yield opened


@pytest.fixture
def restored(home, ledger, tmp_path):
    """The party after a backup from which it was made again; its release went on in the meantime."""
    back_up(home, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    with contextlib.closing(Ledger(tmp_path / "again" / LEDGER)) as opened:
        yield opened


def certificate(path, ledger, terms, name="clinic"):
    """The certificate of a release, as far as a recount reads it."""
    entries, _, mark = ledger.certify(Claim(terms.release_id, b"c" * 32, 9.0))
    said = {
        "name": name,
        "entries": [{"zcdp_rho": str(entry.zcdp_rho)} for entry in entries],
        "mark": {"events": mark.events, "head": mark.head.hex()},
    }
    path.write_text(json.dumps({"signed": {"terms": encode_terms(terms).hex(), "parties": [said]}}))
    return path


def party(*words):
    return CliRunner().invoke(party_commands, [str(word) for word in words])


def test_a_backup_is_secret_and_says_what_secrets_it_has_and_how_far_the_ledger_was(home, ledger, tmp_path):
    home.approvals().close()
    done = party("backup", home.folder, tmp_path / "backup")
    assert "can sign as this party (identity/identity.key)" in done.output
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    with tarfile.open(tmp_path / "backup") as archive:
        names = set(archive.getnames())
        manifest = json.load(archive.extractfile("manifest.json"))
    assert {"identity/identity.key", "policy.toml", "schema.json", LEDGER, REQUESTS, "format"} <= names
    assert "rows.csv" not in names
    assert manifest["mark"] == [2, ledger.mark().head.hex()]
    assert "identity.key" in manifest["secrets"]
    assert not list(home.folder.glob(".backup-*"))
    with pytest.raises(DataError, match="exists already; choose another name"):
        back_up(home, tmp_path / "backup")


def test_a_backup_has_no_key_of_noise_or_masks_of_a_release_that_is_open(home, ledger, tmp_path):
    back_up(home, tmp_path / "backup")
    content = (tmp_path / "backup").read_bytes()
    assert encode_terms(TERMS) in content
    for secret in (KEY, SECRET, INTRODUCTION, b"a" * 64):
        assert secret not in content
    assert ledger.charge(QUERY, HALF, DATA, b"x" * 32).noise_key == KEY


def test_a_restored_party_is_the_same_one_with_the_files_of_the_backup(home, ledger, tmp_path):
    back_up(home, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "again")
    again = PartyHome.open(tmp_path / "again")
    again.check_files()
    assert again.card().identity == home.card().identity
    assert again.domain() == home.domain()
    assert stat.S_IMODE((again.folder / LEDGER).stat().st_mode) == 0o600
    with pytest.raises(DataError, match="exists already; its ledger may know of more charges"):
        restore(tmp_path / "backup", tmp_path / "again")


def test_what_was_granted_to_a_release_that_was_open_counts_as_spent_and_it_cannot_go_on(restored):
    (summary,) = restored.summaries()
    assert (summary.state, summary.spent, restored.total_reserved()) == ("abandoned", 1, 1)
    with pytest.raises(ProtocolError, match="is abandoned at this party"):
        restored.charge(OTHER, QUARTER, DATA, KEY)


def test_a_restored_party_accepts_nothing_until_what_was_spent_since_is_counted(restored):
    with pytest.raises(PolicyError, match="restored from a backup, and accepts nothing until"):
        restored.reserve(LATER, DATA, SECRET, anything)
    restored.recount(QUARTER, "certificates of all curators")
    restored.reserve(LATER, DATA, SECRET, anything)
    assert restored.total_reserved() == 1 + QUARTER + 1
    with pytest.raises(DataError, match="expected a ledger that was restored and not counted yet"):
        restored.recount(QUARTER, "again")


def test_a_ledger_that_was_restored_twice_is_counted_once_for_both(restored):
    restored.hold_restored()
    restored.recount(QUARTER, "certificates")
    assert (restored.is_held(), restored.total_reserved()) == (False, 1 + QUARTER)


def test_the_mark_of_a_backup_that_lacks_nothing_is_in_the_restored_history_and_a_later_one_is_not(
    home, ledger, restored
):
    restored.check_contains(ledger.mark())
    ledger.charge(OTHER, QUARTER, DATA, KEY)
    restored.recount(Fraction(0), "nothing")
    assert restored.mark().events > ledger.mark().events
    with pytest.raises(ProtocolError, match="was restored from an old copy"):
        restored.check_contains(ledger.mark())


def test_certificates_of_releases_since_the_backup_are_counted_and_others_not_twice(
    home, ledger, restored, tmp_path
):
    known = certificate(tmp_path / "known.json", ledger, TERMS)
    ledger.reserve(LATER, DATA, SECRET, anything)
    ledger.charge(type(QUERY)(LATER.release_id, "q", QUERY.form, View(("a",)), 2.0), QUARTER, DATA, KEY)
    later = certificate(tmp_path / "later.json", ledger, LATER)
    restored.close()
    words = ("recount", tmp_path / "again", "--rho", "0.5", "--reason", "all certificates", known)
    done = party(*words, later, later)
    assert "counted rho 0.75 as spent" in done.output
    assert "refuse this identity: give them another one by `dpmosaic party rotate`" in done.output
    with contextlib.closing(Ledger(tmp_path / "again" / LEDGER)) as again:
        assert again.total_reserved() == 1 + Fraction(3, 4)


def test_everything_that_is_left_can_be_counted_as_spent(restored, tmp_path):
    restored.close()
    done = party("recount", tmp_path / "again", "--everything", "--reason", "no certificates")
    assert "counted rho 4 " in done.output
    with contextlib.closing(Ledger(tmp_path / "again" / LEDGER)) as again:
        assert again.total_reserved() == 5


@pytest.mark.parametrize("text", ["{}", "[]", '{"signed": null}', '{"signed": {"parties": []}}'])
def test_a_file_that_is_no_certificate_of_this_party_is_refused_and_nothing_counted(restored, tmp_path, text):
    restored.close()
    (tmp_path / "other.json").write_text(text)
    done = party("recount", tmp_path / "again", "--reason", "x", tmp_path / "other.json")
    assert "expected a certificate that party 'clinic' signed" in str(done.exception)
    done = party("recount", tmp_path / "again", "--reason", " ")
    assert "expected a reason" in str(done.exception)
    with contextlib.closing(Ledger(tmp_path / "again" / LEDGER)) as again:
        assert again.is_held()


def repacked(path, target, change):
    """A backup with other bytes in one of its files, or another manifest."""
    with tarfile.open(path) as old, tarfile.open(target, "w") as new:
        for entry in old:
            name, content = change(entry.name, old.extractfile(entry).read())
            entry.name, entry.size = name, len(content)
            new.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda name, content: (name, content + b" " * (name == "policy.toml")), "is none or is damaged"),
        (
            lambda name, content: (name, content.replace(b"backup 1", b"backup 2")),
            "found 'dpmosaic backup 2'",
        ),
        (lambda name, content: (name.replace("schema", "other"), content), "is none or is damaged"),
        (
            lambda name, content: (
                name.replace("schema.json", "../x"),
                content.replace(b"schema.json", b"../x") if name == "manifest.json" else content,
            ),
            "is none or is damaged",
        ),
    ],
    ids=["other bytes", "later form", "lacking file", "outside"],
)
def test_a_damaged_backup_or_one_of_another_form_leaves_no_folder(home, ledger, tmp_path, change, said):
    back_up(home, tmp_path / "backup")
    repacked(tmp_path / "backup", tmp_path / "changed", change)
    with pytest.raises(DataError, match=said):
        restore(tmp_path / "changed", tmp_path / "again")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(DataError, match="is none or is damaged"):
        restore(tmp_path / "empty", tmp_path / "again")
    assert not list(tmp_path.glob("again*")) + list(tmp_path.glob("x"))


def test_a_backup_while_the_party_charges_is_the_ledger_at_one_time(home, ledger, tmp_path):
    charged = [type(QUERY)(TERMS.release_id, f"n{n}", QUERY.form, View(("a",)), 2.0) for n in range(5)]
    for number, query in enumerate(charged):
        ledger.charge(query, Fraction(1, 100), DATA, KEY)
        made = back_up(home, tmp_path / f"backup-{number}")
        assert made.mark == ledger.mark() == Mark(3 + number, ledger.mark().head)
