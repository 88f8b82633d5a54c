"""Every protocol that daemons speak keeps the contract of protocols."""

import pytest

from dpmosaic.common.protocols.registry import BUILT_IN, Users
from dpmosaic.testing import ProtocolContract


class TestProtocols(ProtocolContract):
    @pytest.fixture(params=[name for name, known in BUILT_IN.items() if known.users is Users.DAEMONS])
    def protocol(self, request):
        return BUILT_IN[request.param]
