"""An evaluator of a release that computes something else: no score is answered.

`tests/common/protocols/scores/test_deviation.py` has every message of every evaluator.
"""

import numpy as np
import pytest

from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.protocols.scores.exchange import Exchange
from support.scoring import COST

DEVIATES = "one of the two deviates"


@pytest.mark.parametrize("role", [0, 1, 2])
def test_nothing_of_the_scores_is_answered_if_an_evaluator_deviates(scoring, monkeypatch, role):
    stage = Exchange.stage

    def inverted(self, steps, message=None):
        if message is not None and self._role == role:
            message.view(np.uint8)[...] ^= 0xFF
        return stage(self, steps, message)

    monkeypatch.setattr(Exchange, "stage", inverted)
    scoring.prepare().share()
    with pytest.raises(ProtocolError, match=DEVIATES):
        scoring.steps()
    with pytest.raises(ProtocolError, match=f"{DEVIATES}|need all steps"):
        scoring.frames()
    # What was charged stays so.
    assert set(scoring.release.spent().values()) == {COST}
