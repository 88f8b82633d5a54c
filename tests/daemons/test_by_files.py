"""Institutions without a network, one among daemons or two alone: people carry files and type commands."""

import contextlib
import json
import random
import shutil
import stat

import pytest

from dpmosaic.common.errors import AnswerPending, ApprovalPending, DataError, PolicyError, ProtocolError

pytestmark = pytest.mark.slow


class Sites:
    """A federation, some of whose parties are reached by files.

    Attributes:
        away: names of those.
        carried: every file that was carried to a party, with its name, in order.
    """

    def __init__(self, network, command, folder, away):
        self.network, self.command, self.folder, self.away = network, command, folder, away
        self.curator, self.out, self.carried = network.folder / "curator", folder / "out", []

    def waiting(self, name):
        """The files for a party to which no answer was taken in."""
        answered = {path.name for path in self.curator.glob(f"inbox/{name}/*.bundle")}
        found = sorted(self.curator.glob(f"outbox/{name}/*.bundle"))
        return [path for path in found if path.name not in answered]

    def answer(self, name, request, **how):
        answer = self.folder / "answer.bundle"
        return self.command("party", "answer", self.network.party(name), request, "--out", answer, **how)

    def take_in(self, **how):
        return self.command("curator", "inbox", self.curator, self.folder / "answer.bundle", **how)

    def carry(self):
        """One round trip: to every party for which a file waits, and back."""
        for name in self.away:
            for request in self.waiting(name):
                stick = shutil.copy(request, self.folder / f"{name}-{request.name}")
                self.carried.append((name, stick))
                self.answer(name, stick)
                self.take_in()

    def begin(self):
        """Begins the release; why it stopped."""
        return self.command("curator", "release", self.network.plan, "--out", self.out, fails=True)

    def trips_to_the_end(self):
        """Round trips until the release is made."""
        trips = 0
        while True:
            try:
                self.command("curator", "resume", self.out)
                return trips
            except AnswerPending:
                self.carry()
                trips += 1

    def ledger(self, name):
        return json.loads(self.command("party", "ledger", self.network.party(name), "--json"))


@contextlib.contextmanager
def sites_of(tmp_path, network_of, command, grid, away, **plan):
    network = network_of(tmp_path, grid, **plan)
    text = network.plan.read_text()
    assert "# answer_days = 30" in text
    network.plan.write_text(text.replace("# answer_days = 30", "answer_days = 0"))
    sites = Sites(network, command, tmp_path, away)
    with contextlib.ExitStack() as stack:
        for name in network.all_names:
            if name in away:
                card = tmp_path / f"{name}.json"
                command("party", "card", network.party(name), "--out", card)
                assert "carry " in command("curator", "enroll", sites.curator, card, "--by-files")
            else:
                daemon = network.start(name)
                stack.callback(daemon.stop)
                stack.callback(daemon.process.terminate)
                network.enroll(name, daemon)
        yield sites


@pytest.fixture
def two(tmp_path, network_of, command):
    """Two parties, both by files, so that nothing listens anywhere."""
    with sites_of(tmp_path, network_of, command, "2x1", ("party-1-1", "party-2-1")) as sites:
        sites.carry()
        yield sites


def test_one_of_four_sites_has_no_network_and_its_officer_decides_there(tmp_path, network_of, command):
    name = "party-4-1"
    with sites_of(tmp_path, network_of, command, "4x1", (name,)) as sites:
        folder, federation = sites.network.party(name), tmp_path / "federation.json"
        by_hand(folder)
        assert "has not said yet what it holds" in sites.begin()
        sites.carry()
        told = command("curator", "preflight", sites.network.plan)
        assert "FIX" not in told
        assert f"to {name} about 3 round trips of files" in told
        command("curator", "resume", sites.out, fails=True)
        (request,) = sites.waiting(name)
        assert "no answer was written" in sites.answer(name, request, fails=True)
        command("party", "approve", folder, "--yes", "--reason", "a trial")
        assert sites.trips_to_the_end() == 3

    command("curator", "federation", sites.curator, "--out", federation)
    command("curator", "verify", sites.out / "certificate.json", "--federation", federation)
    (charged,) = sites.ledger(name)
    assert charged["state"] == "certified"
    assert charged["spent_rho"] == pytest.approx(0.5)
    assert not list(sites.curator.glob(f"*box/{name}/{charged['release']}*"))


def test_files_that_come_late_twice_or_in_any_order_make_one_release_that_is_charged_once(two):
    two.begin()
    while not (two.out / "certificate.json").exists():
        for name in reversed(two.away):
            for request in two.waiting(name):
                two.carried.append((name, shutil.copy(request, two.folder / f"{name}-{request.name}")))
                for _ in range(2):
                    two.answer(name, request)
                    two.take_in()
                # One answer is here while the other party's is under way.
                with contextlib.suppress(AnswerPending):
                    two.command("curator", "resume", two.out)
    before = [two.ledger(name) for name in two.away]
    assert [[one["spent_rho"] for one in ledger] for ledger in before] == [[pytest.approx(0.5)]] * 2
    random.Random(1).shuffle(two.carried)
    for name, request in two.carried:
        assert "charged now: rho 0;" in two.answer(name, request)
    assert [two.ledger(name) for name in two.away] == before


def test_a_bundle_is_private_and_its_name_says_a_release_and_a_number(two):
    two.begin()
    (sent,) = two.waiting("party-1-1")
    two.answer("party-1-1", sent)
    assert len(sent.stem) == len("0" * 32 + "-0001")
    for path in (sent, two.folder / "answer.bundle"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_party_refuses_what_is_no_bundle_of_its_curator_for_it_and_charges_nothing(two):
    two.begin()
    (own,), (others,) = (two.waiting(name) for name in two.away)
    two.answer("party-2-1", others)
    stranger = two.folder / "stranger"
    two.command("curator", "init", stranger, "--name", "stranger")
    two.command("party", "card", two.network.party("party-1-1"), "--out", two.folder / "card.json")
    two.command("curator", "enroll", stranger, two.folder / "card.json", "--by-files")
    (strangers,) = stranger.glob("outbox/*/*.bundle")
    namesake = two.folder / "namesake"
    two.command("curator", "init", namesake, "--name", "curator")
    two.command("curator", "enroll", namesake, two.folder / "card.json", "--by-files")
    (forged,) = namesake.glob("outbox/*/*.bundle")
    cut = two.folder / "cut.bundle"
    cut.write_bytes(own.read_bytes()[:-1])
    for path, error, said in (
        (others, ProtocolError, "one for 'party-2-1'"),
        (strangers, ProtocolError, "of a pinned curator, got one of 'stranger'"),
        (forged, ProtocolError, "altered, cut, or written by or for another"),
        (cut, ProtocolError, "altered, cut, or written by or for another"),
        (two.folder / "answer.bundle", ProtocolError, "got one of replies"),
        (two.network.plan, ProtocolError, "a file of another kind"),
        (two.folder / "none", DataError, "cannot read"),
    ):
        with pytest.raises(error, match=said):
            two.command("party", "answer", two.network.party("party-1-1"), path, "--out", two.folder / "no")
    assert not (two.folder / "no").exists()
    assert two.ledger("party-1-1") == []


def test_an_answer_replaces_no_ledger_and_no_other_file_that_is_none(two):
    two.begin()
    (sent,) = two.waiting("party-1-1")
    party = two.network.party("party-1-1")
    for name in ("ledger.sqlite", "policy.toml"):
        before = (party / name).read_bytes()
        with pytest.raises(DataError, match="expected a new file for the answer"):
            two.command("party", "answer", party, sent, "--out", party / name)
        assert (party / name).read_bytes() == before
    assert two.ledger("party-1-1") == []
    two.answer("party-1-1", sent)
    two.answer("party-1-1", sent)


def test_a_curator_refuses_what_is_no_answer_to_its_file(two):
    two.begin()
    (own,), (others,) = (two.waiting(name) for name in two.away)
    two.answer("party-2-1", others)
    whole = (two.folder / "answer.bundle").read_bytes()
    renamed = whole.replace(b"party-2-1", b"party-1-1")
    for content, said in (
        (whole[:-1], "altered, cut, or written by or for another"),
        (renamed, "got the answer to another"),
        (own.read_bytes(), "got a file for one"),
        (b"", "a file of another kind"),
    ):
        (two.folder / "answer.bundle").write_bytes(content)
        with pytest.raises(ProtocolError, match=said):
            two.take_in()
    assert not list(two.curator.glob("inbox/*/[1-9a-f]*.bundle"))


def test_a_denial_by_one_site_ends_the_release_and_frees_the_budget_of_the_other(two):
    folder = two.network.party("party-2-1")
    by_hand(folder)
    two.begin()
    with pytest.raises(ApprovalPending, match="run the same command again"):
        two.carry()
    (request,) = json.loads(two.command("party", "releases", folder, "--json"))
    two.command("party", "deny", folder, request["release"], "--reason", "the purpose is not ours")
    two.carry()
    with pytest.raises(PolicyError, match=r"party 'party-2-1'.*denied the release"):
        two.command("curator", "resume", two.out)
    (reserved,) = two.ledger("party-1-1")
    assert reserved["reserved_rho"] > 0
    two.carry()
    (freed,) = two.ledger("party-1-1")
    assert (freed["state"], freed["reserved_rho"]) == ("abandoned", 0.0)


def test_keys_under_a_passphrase_serve_answer_and_come_back_from_a_backup(
    tmp_path, network_of, command, monkeypatch
):
    """Those of the curator, of a party with a daemon, and of one by files."""
    passphrase = tmp_path / "passphrase"
    passphrase.touch(mode=0o600)
    passphrase.write_text("correct horse battery staple\n")

    def encrypted(*arguments, **plan):
        network = network_of(*arguments, **plan)
        for name in network.all_names:
            command("party", "encrypt", network.party(name), "--new-key-file", passphrase)
        command("curator", "encrypt", network.folder / "curator", "--new-key-file", passphrase)
        assert "are encrypted" in command("party", "card", network.party(name), fails=True)
        monkeypatch.setenv("DPMOSAIC_KEY_FILE", str(passphrase))
        return network

    with sites_of(tmp_path, encrypted, command, "2x1", ("party-2-1",)) as sites:
        sites.carry()
        sites.begin()
        sites.trips_to_the_end()
        assert (sites.out / "certificate.json").exists()
        folder, backup = sites.network.party("party-2-1"), tmp_path / "clinic.backup"
        command("party", "backup", folder, backup)
        command("party", "restore", backup, tmp_path / "restored")
        assert "FIX  certificate" not in command("party", "doctor", tmp_path / "restored", fails=True)
        for path in (tmp_path / "restored/identity").iterdir():
            assert path.name == "trusted" or b"PRIVATE KEY" not in path.read_bytes()
        command("party", "decrypt", folder)
        assert b"PRIVATE KEY" in (folder / "identity/tls.key").read_bytes()
        command("party", "card", folder)


def by_hand(folder):
    """An officer decides on every release."""
    policy = (folder / "policy.toml").read_text()
    assert "approval = false" in policy
    (folder / "policy.toml").write_text(policy.replace("approval = false", "approval = true"))
