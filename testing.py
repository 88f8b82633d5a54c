"""Contracts that mechanisms, protocols, sources and metrics of any package keep: inherit one in a test class.

Needs pytest. docs/extending.md has an example.
"""

from __future__ import annotations

from .simulations.contracts.mechanism import MechanismContract
from .simulations.contracts.metric import MetricContract
from .simulations.contracts.protocol import ProtocolContract
from .simulations.contracts.source import SourceContract

__all__ = ["MechanismContract", "MetricContract", "ProtocolContract", "SourceContract"]
