"""Ring keeps what every mechanism keeps."""

import pytest
from dpmosaic_ring import Ring

from dpmosaic.testing import MechanismContract


class TestRing(MechanismContract):
    @pytest.fixture
    def mechanism(self):
        return Ring()
