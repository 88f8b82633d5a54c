"""From related tables to a private release of them in one call, by somebody who holds them all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.crypto.randomness import FreshKeys, RandomStream
from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.labels import DELTA_SHARE
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ALL_ROWS, Adjacency, PrivacyUnit
from ...common.protocols.registry import TRUSTED
from ...curator.analysis.published import Drawn
from ...curator.analysis.release import Release
from ...curator.mechanisms.mechanism import Mechanism
from ...curator.parties.asking import Asking
from ...curator.people.certificate import Part, PeopleCertificate, part_of
from ...curator.people.release import PeopleRelease, drawn_rows, frames
from ...curator.people.rows import Rows, lineage, records
from ...curator.people.shape import Family, Kin, number_name, open_number
from ...curator.people.steps import Steps
from ...curator.pgm.rows.counting import keep_pairs
from ...curator.releasing.planning.bins_share import DEFAULT_SHARE
from ...curator.releasing.progress import progress_bar
from ...curator.results.raw_frames import cells_of, encoded
from ...curator.releasing.release import ReleaseOrder
from ..tables.frames import DomainLike, raw_table, read_domain
from ..learning.cells import Cells
from ..learning.first_step import begun_with, begun_without
from ..parties.participants import Participants
from ..parties.partition import Grid
from ..parties.releasing import release_among
from ..synthesizing.unfinished import Forgotten
from .tables import Raw
