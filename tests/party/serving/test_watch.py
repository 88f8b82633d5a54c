"""What an operator is told of, once for each thing."""

import threading
from fractions import Fraction

from dpmosaic.common.errors import DataError
from dpmosaic.party.home.opening import budget_low
from dpmosaic.party.serving.watch import Watch


class Notices(list):
    """Keeps what would be sent."""

    def send(self, event):
        self.append(event)


def test_each_thing_is_told_once_and_again_when_it_holds_again():
    waiting, notices, log = set(), Notices(), []
    watch = Watch({"approval_waits": lambda: waiting}, notices, log.append)
    for waits, told in (("", 0), ("a", 1), ("a", 1), ("ab", 2), ("b", 2), ("", 2), ("b", 3)):
        waiting = set(waits)
        watch.look()
        assert notices == ["approval_waits"] * told
    assert [event.code for event in log] == ["APPROVAL_WAITS"] * 3


def test_a_condition_that_cannot_be_read_stops_no_other():
    def fails():
        raise DataError("the disk is gone")

    notices = Notices()
    Watch({"a": fails, "b": lambda: ["x"]}, notices, lambda event: None).look()
    assert notices == ["b"]


def test_a_budget_is_low_when_less_than_the_share_is_left():
    for reserved, low in ((Fraction(79, 10), False), (Fraction(81, 10), True), (Fraction(12), True)):
        assert bool(budget_low(Fraction(10), lambda reserved=reserved: reserved, 0.2)()) is low


def test_it_looks_at_the_start_and_then_again_until_it_is_stopped():
    looks, third = [], threading.Event()

    def condition():
        looks.append(1)
        if len(looks) == 3:
            third.set()
        return []

    watch = Watch({"a": condition}, Notices(), lambda event: None, every_s=0.001)
    watch.start()
    assert third.wait(60.0)
    watch.stop()
    before = len(looks)
    watch.look()
    assert len(looks) == before + 1
