"""Four institutions of which one has no network: people carry its files, as they type the commands."""

import contextlib
import json
import shutil

import pytest

pytestmark = pytest.mark.slow

AWAY = "party-4-1"


class Site:
    """A federation of four parties with rows of their own, the last of which is reached by files."""

    def __init__(self, network, command, folder):
        self.network, self.command, self.folder = network, command, folder
        self.curator, self.party = network.folder / "curator", network.party(AWAY)

    def outbox(self):
        """The files for the party that nobody carried yet."""
        answered = {path.name for path in self.curator.glob(f"inbox/{AWAY}/*.bundle")}
        found = sorted(self.curator.glob(f"outbox/{AWAY}/*.bundle"))
        return [path for path in found if path.name not in answered]

    def answer(self, request, out="answer.bundle", **how):
        """What the operator types, with the file on a stick."""
        carried = shutil.copy(request, self.folder / "request.bundle")
        return self.command("party", "answer", self.party, carried, "--out", self.folder / out, **how)

    def take_in(self, out="answer.bundle", **how):
        return self.command("curator", "inbox", self.curator, self.folder / out, **how)

    def carry(self):
        """There and back again, once."""
        (request,) = self.outbox()
        self.answer(request)
        self.take_in()

    def ledger(self, name=AWAY):
        return json.loads(self.command("party", "ledger", self.network.party(name), "--json"))


@contextlib.contextmanager
def site_of(tmp_path, network_of, command, **plan):
    network = network_of(tmp_path, "4x1", **plan)
    text = network.plan.read_text()
    network.plan.write_text(text.replace("# answer_days = 30", "answer_days = 0"))
    place = Site(network, command, tmp_path)
    command("party", "card", place.party, "--out", tmp_path / "card.json")
    command("curator", "enroll", place.curator, tmp_path / "card.json", "--by-files")
    with contextlib.ExitStack() as stack:
        for name in network.all_names:
            if name != AWAY:
                daemon = network.start(name)
                stack.callback(daemon.stop)
                stack.callback(daemon.process.terminate)
                network.enroll(name, daemon)
        yield place


def test_a_release_of_four_sites_goes_to_one_of_them_by_files(tmp_path, network_of, command):
    with site_of(tmp_path, network_of, command, mechanism="mosaic") as site:
        site.carry()
        out = tmp_path / "out"
        print(command("curator", "preflight", site.network.plan))
        stopped = command("curator", "release", site.network.plan, "--out", out, fails=True)
        trips = 0
        while "is reached by files, and its answer is not here" in stopped:
            site.carry()
            trips += 1
            try:
                command("curator", "resume", out)
                stopped = ""
            except Exception as error:
                stopped = str(error)
        print(trips, stopped)
        assert (out / "certificate.json").exists()
