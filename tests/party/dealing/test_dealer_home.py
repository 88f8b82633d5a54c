import contextlib
import json
import stat
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from dpmosaic.command import app
from dpmosaic.common.crypto.certificates import new_tls_key, self_signed
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError, PolicyError
from dpmosaic.common.federation.card import CURATOR, DEALER, PARTY, Card, FederationList, as_text
from dpmosaic.party.accounts.ledger import Ledger
from dpmosaic.party.dealing import policy
from dpmosaic.party.dealing.home import DealerHome
from dpmosaic.party.dealing.policy import DealerPolicy, DealerSettings
from dpmosaic.party.home.folder import LEDGER
from dpmosaic.party.home.home import PartyHome
from dpmosaic.party.policies.serve import Serve
from support.ledgers import DATA, SECRET, TERMS, anything


def card(name, role, seed=None):
    certificate = self_signed(name, new_tls_key(), datetime.now(UTC))
    identity = Identity.from_seed((seed or name).encode().ljust(32))
    return Card.issue(role, name, identity, certificate, Domain.coded({"a": 2}) if role == PARTY else None)


@pytest.fixture
def home(tmp_path):
    return DealerHome.create(tmp_path / "dealer", "university")


def federation(home, **changes):
    dealers = (home.card(), changes.pop("other", card("bank", DEALER)))
    return FederationList(card("curator", CURATOR), (card("clinic", PARTY),), dealers)


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_card_of_a_dealer_contains_no_attributes(home):
    made = home.card()
    assert (made.role, made.name, made.domain) == (DEALER, "university", None)
    assert Card.from_json(json.loads(as_text(made.to_json()))) == made


def test_a_dealer_pins_the_curator_the_parties_and_the_other_dealers(home):
    home.trust(federation(home))
    assert set(home.pinned_identities()) == {"clinic", "university", "bank"}
    assert home.side().accepts(home.federations()[0].curator.certificate.fingerprint)
    with pytest.raises(PolicyError, match="'bank' is pinned with another identity"):
        home.trust(federation(home, other=card("bank", DEALER, "x")))


def test_a_federation_that_lists_the_dealer_as_a_party_is_refused(home):
    own = Card.issue(
        PARTY, "university", home.keyring.identity, home.keyring.certificate, Domain.coded({"a": 2})
    )
    with pytest.raises(PolicyError, match=r"does not contain dealer 'university'.*send the dealer's card"):
        home.trust(FederationList(card("curator", CURATOR), (own,)))


def test_no_party_or_dealer_is_called_curator(tmp_path):
    for home in (DealerHome, PartyHome):
        with pytest.raises(DataError, match="kept for the curator"):
            home.create(tmp_path / "new", "curator")
    assert not (tmp_path / "new").exists()
    with pytest.raises(DataError, match="kept for the curator"):
        card("curator", DEALER)


def test_the_folder_of_a_party_is_not_opened_as_that_of_a_dealer(tmp_path, home):
    PartyHome.create(tmp_path / "party", "clinic")
    with pytest.raises(DataError, match=r"folder of a dealer, with dealer.toml"):
        DealerHome.open(tmp_path / "party")
    with pytest.raises(DataError, match=r"folder of a party, with policy.toml"):
        PartyHome.open(home.folder)


def test_a_new_dealer_deals_nothing(home):
    settings = DealerSettings.load(home.folder)
    assert settings == DealerSettings(DealerPolicy(), Serve("127.0.0.1:7443", None, None))
    assert (settings.policy.max_records, settings.policy.max_cells) == (0, 0)


def test_every_limit_of_a_dealer_is_read(home):
    (home.folder / policy.NAME).write_text(
        '[serve]\nlisten = "0.0.0.0:1"\nmetrics = "9464"\n[policy]\nmax_records = 1\nmax_cells = 2\n'
        "max_memory_mb = 3\nmax_cpu_seconds = 4\nmax_active_releases = 5\n"
    )
    expected = DealerSettings(DealerPolicy(1, 2, 3, 4, 5), Serve("0.0.0.0:1", "9464", None))
    assert DealerSettings.load(home.folder) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[policy]\nmax_record = 1\n", r"max_record in \[policy\]: unknown key .did you mean 'max_records'"),
        ("[source]\n", r"\[source\]: unknown key; it has serve, workers, policy"),
        ("[policy]\nmax_cells = -1\n", "max_cells .*a whole number of at least 0, got -1"),
        ("[policy]\nmax_cpu_seconds = 0\n", "max_cpu_seconds .*a whole number of at least 1, got 0"),
        ("[policy]\nmax_records = 1.5\n", "max_records in .*a whole number of at least 0, got 1.5"),
        ("[policy\n", "is not TOML"),
    ],
)
def test_a_policy_that_does_not_hold_together_is_refused(home, text, reason):
    (home.folder / policy.NAME).write_text(text)
    with pytest.raises(DataError, match=f"dealer.toml.*{reason}"):
        DealerSettings.load(home.folder)


def test_files_that_others_can_read_or_change_are_not_served(home):
    home.check_files()
    for name, mode, verb in ((LEDGER, 0o640, "read or change"), (policy.NAME, 0o620, "change")):
        path = home.folder / name
        kept = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        with pytest.raises(DataError, match=f"other users can {verb} .*{name}"):
            home.check_files()
        path.chmod(kept)


def test_the_commands_make_a_dealer_list_its_releases_and_abandon_one(tmp_path):
    folder, listed = tmp_path / "dealer", tmp_path / "federation.json"
    assert f"set what you allow in {folder / 'dealer.toml'}" in run(
        "dealer", "init", folder, "--name", "university"
    )
    made = Card.from_json(json.loads(run("dealer", "card", folder)))
    listed.write_text(as_text(federation(DealerHome.open(folder)).to_json()))
    assert "dealer bank\n" in run("dealer", "trust", folder, listed, "--yes")
    assert DealerHome.open(folder).pinned_identities()["university"] == made.identity
    with contextlib.closing(Ledger(folder / LEDGER)) as ledger:
        ledger.reserve(TERMS, DATA, SECRET, anything)
    entry = {"release": TERMS.release_id, "state": "open"}
    assert json.loads(run("dealer", "releases", folder, "--json")) == [entry]
    assert run("dealer", "abandon", folder, TERMS.release_id[:6]) == f"abandoned {TERMS.release_id}\n"
    assert json.loads(run("dealer", "releases", folder, "--json")) == [entry | {"state": "abandoned"}]
