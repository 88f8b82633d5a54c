import io
import json
from datetime import UTC, datetime

from dpmosaic.party.serving.events import Event, EventLog


def test_an_event_is_written_in_full_for_the_operator_and_only_as_codes_for_sharing():
    local, shareable = io.StringIO(), io.StringIO()
    log = EventLog(local, shareable, lambda: datetime(2031, 5, 4, tzinfo=UTC))
    log(Event("call", "Answer", "curator", "PERMISSION_DENIED", 0.25, 10, 0, "max_cells of the policy"))
    time = "2031-05-04T00:00:00.000+00:00"
    assert json.loads(local.getvalue()) == {
        "time": time,
        "event": "call",
        "method": "Answer",
        "caller": "curator",
        "code": "PERMISSION_DENIED",
        "seconds": 0.25,
        "bytes_in": 10,
        "reason": "max_cells of the policy",
    }
    assert json.loads(shareable.getvalue()) == {
        "time": time,
        "event": "call",
        "method": "Answer",
        "code": "PERMISSION_DENIED",
    }


def test_without_a_shareable_log_only_the_local_one_is_written():
    local = io.StringIO()
    EventLog(local)(Event("started"))
    assert local.getvalue().count("\n") == 1
