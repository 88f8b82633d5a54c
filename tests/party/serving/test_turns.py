import threading

import pytest

from dpmosaic.party.serving.turns import Turns


def test_two_calls_of_one_release_take_turns():
    turns, running, most = Turns(), [], []

    def begin():
        for number in range(20):
            running.append(number)
            most.append(len(running))
            threading.Event().wait(0.001)
            running.pop()
            yield b""

    threads = [threading.Thread(target=lambda: list(turns.of("r").replies(begin))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_calls_of_two_releases_do_not_wait_for_each_other():
    turns, met = Turns(), threading.Barrier(2, timeout=60)

    def begin():
        met.wait()
        yield b"met"

    replies = []
    threads = [
        threading.Thread(target=lambda name=name: replies.extend(turns.of(name).replies(begin)))
        for name in ("r", "s")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [b"met", b"met"]


def test_a_call_that_waits_for_a_request_lets_another_one_run():
    turns, second_ran = Turns(), threading.Event()
    turn = turns.of("r")

    def requests():
        yield b"first"
        assert second_ran.wait(60)
        yield b"second"

    def begin():
        yield b"".join(turn.outside(requests()))

    def other():
        second_ran.set()
        yield b""

    first = []
    thread = threading.Thread(target=lambda: first.extend(turn.replies(begin)))
    thread.start()
    list(turns.of("r").replies(other))
    thread.join()
    assert first == [b"firstsecond"]


def test_a_reply_is_yielded_outside_the_turn():
    turns = Turns()
    replies = turns.of("r").replies(lambda: iter([b"a", b"b"]))
    assert next(replies) == b"a"
    assert list(turns.of("r").replies(lambda: iter([b"c"]))) == [b"c"]
    assert next(replies) == b"b"


def test_an_error_releases_the_turn():
    turns = Turns()

    def failing():
        raise RuntimeError("failed")
        yield

    turn = turns.of("r")
    with pytest.raises(RuntimeError, match="failed"):
        list(turn.replies(failing))
    with pytest.raises(RuntimeError, match="failed"):
        list(turn.replies(lambda: turn.outside(failing())))
    assert list(turns.of("r").replies(lambda: iter([b"c"]))) == [b"c"]
