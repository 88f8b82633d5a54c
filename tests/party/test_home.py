import contextlib
import io
import os
import shutil
import stat
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from dpmosaic.common.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.keyring import write_private
from dpmosaic.party.folder import LEDGER, Reread
from dpmosaic.party.home import CODES, REQUESTS, PartyHome
from dpmosaic.party.ledger import Ledger
from dpmosaic.party.policy_file import Settings
from dpmosaic.party.serving.daemon import serve
from support.ledgers import DATA, SECRET, TERMS, anything

DOMAIN = Domain.coded({"a": 2})


def card(name, role=PARTY, seed=None):
    certificate = self_signed(name, new_tls_key(), datetime.now(UTC))
    identity = Identity.from_seed((seed or name).encode().ljust(32))
    return Card.issue(role, name, identity, certificate, DOMAIN if role == PARTY else None)


@pytest.fixture
def home(tmp_path):
    made = PartyHome.create(tmp_path / "clinic", "clinic")
    (made.folder / "domain.json").write_text('{"a": 2}')
    return PartyHome.open(made.folder)


def federation(home, *others, curator=None):
    return FederationList(curator or card("curator", CURATOR), (home.card(), *others))


def test_a_card_contains_only_public_facts(home):
    made = home.card()
    assert (made.role, made.name, made.domain) == (PARTY, "clinic", DOMAIN)
    assert made.identity == home.keyring.identity.public


def test_a_new_home_trusts_no_curator(home):
    assert home.trusted() == []
    assert home.side().pinned == ()


def test_a_trusted_curator_is_accepted_and_a_revoked_one_is_not(home):
    listed = federation(home, card("other"))
    home.trust(listed)
    assert home.trusted() == [listed]
    assert home.side().accepts(listed.curator.certificate.fingerprint)
    home.revoke("curator")
    assert home.side().pinned == ()
    with pytest.raises(DataError, match="no curator 'curator'"):
        home.revoke("curator")


def test_only_parties_under_take_in_the_policy_may_connect_beside_the_curator(home):
    other, third = card("other"), card("third")
    home.trust(federation(home, other, third))
    (home.folder / "rows.csv").write_text("a\n0\n1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\n'
    direct = '[direct]\nsend = { third = "third:7443" }\ntake = ["other", "unknown"]\n'
    (home.folder / "policy.toml").write_text(source + direct)
    with home.opened() as opened:
        side = opened.direct.side(home.side())
    assert side.peers == {other.certificate.fingerprint: other.identity}
    assert side.accepts(other.certificate.fingerprint)
    assert not side.accepts(third.certificate.fingerprint)
    assert side.identities == home.side().identities
    assert opened.direct.send == {"third": "third:7443"}


def test_a_new_certificate_of_a_known_identity_replaces_the_old_one(home):
    home.trust(federation(home))
    newer = card("curator", CURATOR)
    home.trust(federation(home, curator=newer))
    assert [c.fingerprint for c in home.side().pinned] == [newer.certificate.fingerprint]


def test_a_new_identity_under_a_known_name_is_refused(home):
    home.trust(federation(home, card("other")))
    with pytest.raises(PolicyError, match="'curator' is pinned with another identity"):
        home.trust(federation(home, curator=card("curator", CURATOR, "x")))
    second = card("second", CURATOR)
    with pytest.raises(PolicyError, match="'other' is pinned with another identity"):
        home.trust(federation(home, card("other", seed="x"), curator=second))


def test_a_federation_without_the_party_or_with_another_identity_of_it_is_refused(home):
    for listed in (card("other"), card("clinic")):
        with pytest.raises(PolicyError, match="send the party's card to the curator"):
            home.trust(FederationList(card("curator", CURATOR), (listed,)))


def test_files_are_read_again_only_when_they_changed(home):
    made = []

    def side():
        made.append(home.side())
        return made[-1]

    reread = Reread(side, home.keyring.folder)
    assert reread() is reread()
    home.trust(federation(home))
    assert len(reread().pinned) == 1
    later = self_signed("clinic", home.keyring.tls_key, datetime.now(UTC) + timedelta(minutes=5))
    write_private(home.keyring.folder / "tls.crt", later.pem)
    assert reread().certificate.fingerprint == later.fingerprint
    assert len(made) == 3


def test_refuses_a_second_daemon_on_the_same_folder(home):
    with home.claimed(), pytest.raises(DataError, match="already served"), home.claimed():
        pass
    with home.claimed():
        assert os.path.exists(home.folder / "serve.lock")


def test_a_key_column_bounds_the_rows_of_a_person_and_stays_at_the_party(home):
    (home.folder / "rows.csv").write_text("id,a\np,0\nq,1\np,1\nq,0\np,1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\nkey = "id"\n'
    (home.folder / "policy.toml").write_text(source + "[policy]\nmax_rows_per_person = 2\napproval = false\n")
    ledger = Ledger()
    party = home.party(Settings.load(home.folder), ledger, None)
    description = party.describe()
    assert (description.record_count, description.domain) == (4, DOMAIN)
    ledger.close()


def test_a_party_that_allows_alignments_names_its_identifiers_and_hides_how_many_rows_it_has(home):
    (home.folder / "rows.csv").write_text("id,name,a\np,Li,0\n,Roy,1\np,Kim,1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\nkey = "id"\n'
    named = 'identifiers = { surname = "name", national_id = "id" }\n'
    (home.folder / "policy.toml").write_text(source + named + "[policy]\nmax_alignment_rho = 0.1\n")
    ledger = Ledger()
    description = home.party(Settings.load(home.folder), ledger, None).describe()
    assert (description.record_count, description.identifiers) == (None, ("national_id", "surname"))
    ledger.close()


def test_a_new_home_has_an_empty_ledger_that_only_its_owner_can_read(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        assert ledger.summaries() == []
    assert stat.S_IMODE((home.folder / LEDGER).stat().st_mode) == 0o600


def test_new_keys_beside_a_ledger_keep_it(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        ledger.reserve(TERMS, DATA, SECRET, anything)
    shutil.rmtree(home.keyring.folder)
    PartyHome.create(home.folder, "clinic")
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        assert ledger.reserved() == 1


def test_a_missing_ledger_is_not_created_when_serving(home):
    (home.folder / LEDGER).unlink()
    with pytest.raises(DataError, match="found none; only the command init creates one"):
        serve(home, io.StringIO())
    assert not (home.folder / LEDGER).exists()
    with pytest.raises(DataError, match="contains keys already"):
        PartyHome.create(home.folder, "clinic")
    assert not (home.folder / LEDGER).exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666])
@pytest.mark.parametrize("name", [LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm", REQUESTS, f"{REQUESTS}-wal"])
def test_a_secret_file_that_others_can_read_or_write_is_not_served(home, name, mode):
    path = home.file(name)
    home.check_files()
    path.chmod(mode)
    with pytest.raises(DataError, match=rf"{name}: its mode is {mode:03o}; run chmod 600 .*{name}$"):
        serve(home, io.StringIO())
    path.chmod(0o600)
    home.check_files()


@pytest.mark.parametrize(
    "name",
    [".", "policy.toml", "identity", "identity/trusted", "identity/tls.crt", "identity/trusted/curator.json"],
)
def test_what_a_party_relies_on_may_be_read_and_not_changed_by_others(home, name):
    home.trust(federation(home))
    path = home.folder / name
    kept = stat.S_IMODE(path.stat().st_mode)
    path.chmod(kept | 0o044)
    home.check_files()
    for extra in (0o020, 0o002):
        path.chmod(kept | extra)
        with pytest.raises(DataError, match=f"other users can change .*run chmod {kept:03o} "):
            serve(home, io.StringIO())


def test_codes_of_rows_are_in_the_folder_and_only_those_that_a_killed_party_left_are_deleted(home):
    (home.folder / "rows").mkdir()
    with duckdb.connect() as connection:
        rows = home.folder / "rows" / "1.parquet"
        connection.execute(f"COPY (SELECT unnest([0, 1, 1]) AS a) TO '{rows}'")
    query = "SELECT * FROM read_parquet('rows/*.parquet') ORDER BY a"
    (home.folder / "policy.toml").write_text(f'[source]\ndomain = "domain.json"\nquery = "{query}"\n')
    left = home.folder / CODES / "codes-left" / "000000.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"codes")
    with home.opened() as opened:
        assert list((home.folder / CODES).iterdir()) == []
        release = opened.role._institution.table.watched(lambda: None)
        assert release.cell_codes(("a",), 0, 2).tolist() == [0, 1]
        assert len(list((home.folder / CODES).rglob("*.parquet"))) == 1
    assert rows.exists()
    assert stat.S_IMODE((home.folder / CODES).stat().st_mode) == 0o700
