import contextlib
import io
import itertools
import os
import shutil
import stat
from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import NameOID

from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.federation import sealed_keys
from dpmosaic.common.federation.card import CURATOR, PARTY, Card, FederationList
from dpmosaic.common.federation.handover import Handover
from dpmosaic.common.federation.private_files import write_private
from dpmosaic.common.processes.reread import Reread
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.home.opening import party_of
from dpmosaic.party.names import CODES, REQUESTS
from dpmosaic.party.policies.file import Settings
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
    assert home.federations() == []
    assert home.side().pinned == ()


def test_a_trusted_curator_is_accepted_and_a_revoked_one_is_not(home):
    listed = federation(home, card("other"))
    home.trust(listed)
    assert home.federations() == [listed]
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
    with home.open_role() as opened:
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


def rotated(home, name, seeds):
    """The card of another party after it handed its identity over from seed to seed."""
    keys = [Identity.from_seed(seed.encode().ljust(32)) for seed in seeds]
    handovers = tuple(
        Handover.issue(PARTY, name, former, later.public) for former, later in itertools.pairwise(keys)
    )
    made = self_signed(name, new_tls_key(), datetime.now(UTC))
    return Card.issue(PARTY, name, keys[-1], made, DOMAIN, handovers)


def test_an_identity_that_the_pinned_one_handed_over_to_is_trusted_and_not_given_back(home):
    home.trust(federation(home, card("other")))
    later = rotated(home, "other", ["other", "second", "third"])
    home.trust(FederationList.from_json(federation(home, later).to_json()))
    assert home.pinned_identities()["other"] == later.identity
    with pytest.raises(PolicyError, match="'other' is pinned with another identity"):
        home.trust(federation(home, card("other")))
    for seeds in (["x", "second"], ["second", "x"]):
        with pytest.raises(PolicyError, match="'other' is pinned with another identity"):
            home.trust(federation(home, rotated(home, "other", seeds)))
    home.trust(federation(home, rotated(home, "other", ["third", "fourth"])))


def test_of_two_curators_the_one_that_knows_the_later_identity_decides_whom_a_party_pins(home):
    later = rotated(home, "other", ["other", "second"])
    for curator in ("a", "z"):
        home.trust(federation(home, card("other"), curator=card(curator, CURATOR)))
    home.trust(federation(home, later, curator=card("a", CURATOR)))
    assert home.pinned_identities()["other"] == later.identity


def test_a_rotated_party_has_a_card_that_leads_from_its_former_identity(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        new = home.rotate(ledger).rotate(ledger)
    former, card = home.keyring.identity.public, PartyHome.open(home.folder).card()
    assert card.identity == new.keyring.identity.public != former
    assert len(card.handovers) == 2
    assert card.follows(former)
    assert not home.card().follows(card.identity)
    assert new.keyring.identities[0] == former
    assert stat.S_IMODE((home.keyring.folder / "identity.key").stat().st_mode) == 0o600
    form = card.to_json()
    form["handovers"][0]["name"] = "another"
    with pytest.raises(DataError, match="hand-over of 'another' is not signed by its former identity"):
        Card.from_json(form)


def test_a_rotation_that_was_cut_off_leaves_the_former_identity(home, monkeypatch):
    before = home.card()

    def cut(path, content):
        if path.name == "identity.key":
            raise KeyboardInterrupt
        write_private(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(sealed_keys, "write_private", cut)
        with pytest.raises(KeyboardInterrupt):
            home.keyring.rotate(PARTY, recounted=False)
    assert (home.keyring.folder / "handovers.json").exists()
    assert PartyHome.open(home.folder).card().to_json() == before.to_json()
    assert (
        PartyHome.open(home.folder).keyring.rotate(PARTY, recounted=False).handovers[0].former
        == before.identity
    )


def test_an_identity_is_not_replaced_while_serving_with_open_releases_or_before_a_recount(home):
    with contextlib.closing(Ledger(home.folder / LEDGER)) as ledger:
        with home.claim(), pytest.raises(DataError, match="already served"):
            home.rotate(ledger)
        ledger.reserve(TERMS, DATA, SECRET, anything)
        with pytest.raises(DataError, match="releases are open"):
            home.rotate(ledger)
        ledger.hold_restored()
        with pytest.raises(DataError, match="run dpmosaic party recount before"):
            home.rotate(ledger)
    assert home.keyring.handovers == ()


def of_an_authority(key_pem):
    """A certificate of this key that another key signed, PEM."""
    own, authority = load_pem_private_key(key_pem, None), load_pem_private_key(new_tls_key(), None)
    subject, issuer = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("clinic", "authority")
    )
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).serial_number(1)
    builder = builder.public_key(own.public_key()).not_valid_before(datetime.now(UTC))
    builder = builder.not_valid_after(datetime.now(UTC) + timedelta(days=9))
    return builder.sign(authority, SHA256()).public_bytes(Encoding.PEM)


def test_a_self_signed_certificate_is_renewed_for_the_same_key_and_another_is_not(home, tmp_path):
    now = datetime.now(UTC) + timedelta(days=100)
    made = home.keyring.renew(now)
    assert made.is_of(home.keyring.tls_key)
    assert PartyHome.open(home.folder).keyring.certificate.fingerprint == made.fingerprint
    assert made.not_after > now + timedelta(days=700)
    write_private(home.keyring.folder / "tls.crt", of_an_authority(home.keyring.tls_key))
    with pytest.raises(DataError, match="expected a self-signed certificate"):
        home.keyring.renew(now)


def test_a_certificate_is_warned_of_from_thirty_days_before_its_end(home):
    made = home.keyring.certificate
    for days, warned in ((31, False), (29, True), (0.5, True), (-1, False)):
        assert bool(made.warning(made.not_after - timedelta(days=days))) is warned
    assert "in 29 days; issue a new one" in made.warning(made.not_after - timedelta(days=29.5))


def test_a_federation_without_the_party_or_with_another_identity_of_it_is_refused(home):
    for listed in (card("other"), card("clinic")):
        with pytest.raises(PolicyError, match="send the party's card to the curator"):
            home.trust(FederationList(card("curator", CURATOR), (listed,)))


def test_files_are_read_again_only_when_they_changed(home):
    made = []

    def side():
        made.append(home.side())
        return made[-1]

    reread = Reread(side, home.certificate_files)
    assert reread() is reread()
    home.trust(federation(home))
    assert len(reread().pinned) == 1
    later = self_signed("clinic", home.keyring.tls_key, datetime.now(UTC) + timedelta(minutes=5))
    write_private(home.keyring.folder / "tls.crt", later.pem)
    assert reread().certificate.fingerprint == later.fingerprint
    assert len(made) == 3


def test_refuses_a_second_daemon_on_the_same_folder(home):
    with home.claim(), pytest.raises(DataError, match="already served"), home.claim():
        pass
    with home.claim():
        assert os.path.exists(home.folder / "serve.lock")


def test_a_key_column_bounds_the_rows_of_a_person_and_stays_at_the_party(home):
    (home.folder / "rows.csv").write_text("id,a\np,0\nq,1\np,1\nq,0\np,1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\nkey = "id"\n'
    (home.folder / "policy.toml").write_text(source + "[policy]\nmax_rows_per_person = 2\napproval = false\n")
    ledger = Ledger()
    party = party_of(home, Settings.load(home.folder), ledger, None)
    description = party.describe()
    assert (description.record_count, description.domain) == (4, DOMAIN)
    ledger.close()


def test_a_party_of_people_with_all_rows_states_the_number_of_people(home):
    (home.folder / "rows.csv").write_text("id,a\np,0\nq,1\np,1\nq,0\np,1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\nkey = "id"\n'
    (home.folder / "policy.toml").write_text(source + '[policy]\nmax_rows_per_person = "all"\n')
    ledger = Ledger()
    description = party_of(home, Settings.load(home.folder), ledger, None).describe()
    assert (description.record_count, description.domain) == (2, DOMAIN)
    ledger.close()


def test_a_party_that_allows_alignments_names_its_identifiers_and_hides_how_many_rows_it_has(home):
    (home.folder / "rows.csv").write_text("id,name,a\np,Li,0\n,Roy,1\np,Kim,1\n")
    source = '[source]\ndomain = "domain.json"\nfile = "rows.csv"\nkey = "id"\n'
    named = 'identifiers = { surname = "name", national_id = "id" }\n'
    (home.folder / "policy.toml").write_text(source + named + "[policy]\nmax_alignment_rho = 0.1\n")
    ledger = Ledger()
    description = party_of(home, Settings.load(home.folder), ledger, None).describe()
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
        assert ledger.total_reserved() == 1


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


@pytest.mark.slow
def test_codes_of_rows_are_in_the_folder_and_only_those_that_a_killed_party_left_are_deleted(home):
    (home.folder / "rows").mkdir()
    with duckdb.connect() as connection:
        rows = home.folder / "rows" / "1.parquet"
        connection.execute(f"COPY (SELECT unnest([0, 1, 1]) AS a) TO '{rows}'")
    query = "SELECT * FROM read_parquet('rows/*.parquet') ORDER BY a"
    (home.folder / "policy.toml").write_text(f'[source]\ndomain = "domain.json"\nquery = "{query}"\n')
    left = home.folder / CODES / "dpmosaic-rows-left" / "000000.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"codes")
    with home.open_role() as opened:
        assert not left.parent.exists()
        assert list((home.folder / CODES).rglob("*.parquet")) == []
        release = opened.role._institution.table.with_check(lambda: None)
        assert release.cell_codes(("a",), 0, 2).tolist() == [0, 1]
        assert len(list((home.folder / CODES).rglob("*.parquet"))) == 1
    assert rows.exists()
    assert stat.S_IMODE((home.folder / CODES).stat().st_mode) == 0o700
