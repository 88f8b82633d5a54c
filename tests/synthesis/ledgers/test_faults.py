"""A charge of which any call to the system fails: nothing is lost or half charged, and the next one works."""

import errno
import os
import subprocess
import sys
from fractions import Fraction

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.privacy.spending import Cost
from dpmosaic.synthesis.ledgers.ledger import Ledger, charge, settle
from dpmosaic.synthesis.ledgers.spent import Spent

CALLS = ("open", "close", "stat", "fstat", "fsync", "replace", "unlink", "fchmod", "fdopen", "read", "write")
NUMBERS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)


def release(name):
    cost = Cost(PrivacyUnit(Adjacency.ADD_REMOVE), Fraction(1, 100))
    return Spent(name, "now", "", Budget(0.5, 1e-6), cost)


def names(ledgers):
    return [[one.release_id for one in ledger.read().spent] for ledger in ledgers]


class Faults:
    """Makes one call to the system fail, of those that speak of a folder or an open file."""

    def __init__(self, monkeypatch, folder):
        self._monkeypatch, self._folder = monkeypatch, str(folder)
        self.fired = False

    def at(self, name, place, number):
        """The place-th call of a name fails until the end of the context."""
        before, left = getattr(os, name), place

        def call(*arguments, **options):
            nonlocal left
            about = arguments[0]
            if isinstance(about, int) or str(about).startswith(self._folder):
                left -= 1
                if left == -1:
                    self.fired = True
                    if name == "close":
                        # The system closes a file in any case.
                        before(*arguments)
                    raise OSError(number, os.strerror(number), str(about))
            return before(*arguments, **options)

        self.fired = False
        context = self._monkeypatch.context()
        patch = context.__enter__()
        patch.setattr(os, name, call)
        return context


@pytest.fixture
def ledgers(tmp_path):
    made = [Ledger(tmp_path / f"{name}.json") for name in ("one", "other")]
    charge(made, release("first"))
    return made


@pytest.fixture
def faults(monkeypatch, tmp_path):
    return Faults(monkeypatch, tmp_path)


def failing(faults, change, name, number):
    """Whether the change said so, for each of its calls of this name that fails in turn."""
    place = 0
    while True:
        context = faults.at(name, place, number)
        try:
            change()
            said = False
        except (DataError, OSError) as fault:
            said = fault
        finally:
            context.__exit__(None, None, None)
        if not faults.fired:
            return
        yield said
        place += 1


@pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
@pytest.mark.parametrize("name", CALLS)
def test_a_charge_is_in_all_ledgers_or_in_none_whichever_call_fails(ledgers, faults, tmp_path, name, number):
    before, counter = names(ledgers), iter(range(1000))
    added = []

    def change():
        added.append(str(next(counter)))
        assert set(charge(ledgers, release(added[-1]))) == {*ledgers}

    for said in failing(faults, change, name, number):
        if not said:
            before = [[*one, added[-1]] for one in before]
        assert not said or isinstance(said, DataError)
        assert names(ledgers) == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json", "other.json"]
    # The last one, in which nothing failed.
    assert names(ledgers) == [[*one, added[-1]] for one in before]


@pytest.mark.parametrize("name", CALLS)
def test_an_end_that_cannot_be_written_leaves_what_was_charged(ledgers, faults, name):
    def change():
        settle(ledgers, release("first"), 0.5)

    for _ in failing(faults, change, name, errno.ENOSPC):
        assert names(ledgers) == [["first"], ["first"]]
        for ledger in ledgers:
            [one] = ledger.read().spent
            assert one.cost.zcdp_rho in (Fraction(1, 100), Fraction(1, 200))
            with ledger.changing():
                ledger.write(Ledger(ledger.path).read().__class__(spent=(release("first"),)))


def test_what_has_drawn_noise_stays_counted_where_it_could_be_written(ledgers, faults):
    context = faults.at("replace", 1, errno.ENOSPC)
    with pytest.raises(DataError, match="make room"):
        charge(ledgers, release("copy"), drawn=True)
    context.__exit__(None, None, None)
    assert names(ledgers) == [["first", "copy"], ["first"]]


_KILLED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_faults import charge, release, Ledger, CALLS
from pathlib import Path
ledgers = [Ledger(Path(one)) for one in sys.argv[2:4]]
left = int(sys.argv[4])
def counting(name):
    before = getattr(os, name)
    def call(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return before(*arguments, **options)
    setattr(os, name, call)
for name in CALLS:
    counting(name)
charge(ledgers, release("killed"))
print(left)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_before_any_call_leaves_ledgers_that_are_whole(ledgers, tmp_path):
    def run(left):
        command = [sys.executable, "-c", _KILLED, os.path.dirname(__file__), *(str(x.path) for x in ledgers)]
        return subprocess.run([*command, str(left)], capture_output=True, text=True, check=False)

    many = 10_000
    whole = run(many)
    assert names(ledgers) == [["first", "killed"]] * 2
    calls = many - int(whole.stdout)
    for left in range(0, calls, 3):
        for ledger in ledgers:
            ledger.path.unlink()
        charge(ledgers, release("first"))
        assert run(left).returncode == 9
        assert all(one in (["first"], ["first", "killed"]) for one in names(ledgers))
        charge(ledgers, release("next"))
        assert all(one[-1] == "next" for one in names(ledgers))


def test_a_ledger_with_two_names_is_refused_and_left_as_it_is(ledgers, tmp_path):
    one = ledgers[0]
    os.link(one.path, tmp_path / "link.json")
    for name in (one.path, tmp_path / "link.json"):
        with pytest.raises(DataError, match="hard link"):
            charge([Ledger(name)], release("second"))
    assert names(ledgers) == [["first"], ["first"]]
    (tmp_path / "link.json").unlink()
    charge([one], release("second"))
    assert names([one]) == [["first", "second"]]
