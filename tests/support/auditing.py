"""The privacy loss of a release, from its messages and all neighbours, independent of the accounting.

An answer is its exact values plus independent noise. A record shifts the exact values; the squared lengths of
the shifts, in units of the noise, add up over all answers to mu^2. A release that was charged rho may have at
most mu^2 = 2 rho for any record (Gaussian differential privacy; docs/adr/0003).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.interactions import differences
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.queries import MarginalQuery, ScoreQuery
from dpmosaic.curator.measurers import scores as scoring
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.party.accounts.account import Account
from dpmosaic.simulations.contracts.trial import Trial
from dpmosaic.simulations.parties.network import policy_for, start_parties
from support.transcripts import Recorded, Replayed, Transcript

ALPHA = 1e-9
"""False-alarm rate of each statistical check."""


class WithNull(Table):
    """A table whose last record is null and counts nowhere: a neighbour under zero-out."""

    def marginal(self, clique, groups=()):
        return self._count().marginal(clique, groups)

    def marginals(self, cliques, groups=()):
        return self._count().marginals(cliques, groups)

    def _count(self):
        return Table(self.domain, tuple(column[:-1] for column in self.columns))

    def project(self, attributes):
        part = super().project(attributes)
        return WithNull(part.domain, part.columns)


@dataclass(eq=False)
class Audited:
    """A mechanism's run, and all that an audit needs to know of it.

    Attributes:
        table: the real table.
        trial: participants of the release.
        transcript: messages of the curator.
        fitted: result of the mechanism.
        stated: spent budget by the curator's accountant and by each party's ledger, zCDP.
        keys: for each party, query id -> fingerprint of its noise key.
    """

    table: Table
    trial: Trial
    transcript: Transcript
    fitted: Any
    stated: list[Fraction]
    keys: list[dict[str, bytes]]

    @property
    def answers(self):
        return list(self.transcript.answered.values())

    @property
    def plan(self):
        return self.transcript.terms.masked_plan

    def noise_factor(self, colluder=None):
        """Standard deviation of the noise that the curator sees, as a multiple of the charged sigma."""
        if self.plan is None:
            return 1.0
        noise = self.plan.noise
        return noise.factor if colluder is None else noise.factor * math.sqrt(1 - 1 / noise.parties)

    def values(self, answer, colluder=None):
        if self.plan is None:
            return answer.values(None)
        interaction = isinstance(answer.query, MarginalQuery) and answer.query.view.interaction
        shape = self.table.domain.shape(answer.query.clique) if interaction else ()
        return answer.values(self.plan.ring, shape, colluder)


def audited(monkeypatch, mechanism, table, trial, workload, pieces=None):
    """Runs a mechanism over parties in this process and keeps its messages, statements and noise keys.

    Args:
        monkeypatch: observes the charges and the noise of every party.
        mechanism: configured.
        table: the real table.
        trial: participants and seed.
        workload: of the release.
        pieces: tables of the parties, slice by slice, if they are not those of the trial's grid.
    """
    transcript, keys = Transcript(table.domain), {}
    charge, draw, send = Account.charge, DistributedNoise.draw, scoring._send_references

    def noted(self, query):
        stream = charge(self, query)
        keys.setdefault(id(self), {})[query.query_id] = stream.child_key("fingerprint")
        return stream

    def compared(client, query, references):
        # The dealer of two parties, who gets their references, is in this process.
        transcript.references[query.query_id] = references
        send(client, query, references)

    def kept(self, sigma, size, stream):
        transcript.drawn = draw(self, sigma, size, stream)
        return transcript.drawn

    links = trial.parties(table)
    if pieces is not None:
        policy = policy_for(trial.protocol, PrivacyUnit(trial.adjacency), float(trial.granted))
        links = start_parties(pieces, policy, trial.keys)
    flat = [link for row in links for link in row]
    places = iter(range(len(flat)))
    recorded = [[Recorded(link, next(places), transcript) for link in row] for row in links]
    with monkeypatch.context() as patch:
        patch.setattr(Account, "charge", noted)
        patch.setattr(DistributedNoise, "draw", kept)
        patch.setattr(scoring, "_send_references", compared)
        measurer = trial.measurer(table, recorded)
        fitted = mechanism.run(measurer, workload, RandomStream.from_seed(trial.seed), ignore)
    ledgers = [link.servicer._party._ledger for link in flat]
    stated = [measurer.accountant.spent, *(ledger.cost_of(trial.release_id) for ledger in ledgers)]
    return Audited(table, trial, transcript, fitted, stated, list(keys.values()))


def replayed(mechanism, run, table, workload):
    """The mechanism's result over the noted replies of a run, while this process holds another table.

    It fails if the mechanism sends another request, so a result that differs in nothing depends on the
    answers alone.
    """
    members = run.transcript.terms.masked_plan.roster if run.plan else [None]
    places = iter(range(len(members)))
    slices, parties = map(int, run.trial.grid.split("x"))
    links = [[Replayed(next(places), run.transcript) for _ in range(parties)] for _ in range(slices)]
    measurer = run.trial.measurer(table, links)
    return mechanism.run(measurer, workload, RandomStream.from_seed(run.trial.seed), ignore)


def worst_squared_shift(run):
    """The largest mu^2 over all neighbours: every record, removed or replaced by every other."""
    table, domain = run.table, run.table.domain
    held = np.unique(np.column_stack(table.columns), axis=0)
    every = np.column_stack([axis.ravel() for axis in np.indices(domain.sizes)])
    total = np.zeros((len(held), 1 if run.trial.adjacency is not Adjacency.REPLACE_ONE else len(every)))
    for answer in run.answers:
        for clique, shifts in _squared_shifts(run, answer):
            at = [domain.names.index(name) for name in clique]
            shape = domain.shape(clique)
            old = np.ravel_multi_index(held[:, at].T, shape)
            if run.trial.adjacency is not Adjacency.REPLACE_ONE:
                total[:, 0] += shifts[old, -1]
            else:
                total += shifts[np.ix_(old, np.ravel_multi_index(every[:, at].T, shape))]
    return float(total.max())


def _squared_shifts(run, answer):
    """For each clique of a query: the squared shift in units of the charged noise, shape (cells, cells + 1).

    From the cell of the row to the cell of the column; the last column is the null record.
    """
    query = answer.query
    if not isinstance(query, ScoreQuery):
        effects = _whitened(run.table.domain.shape(query.clique), query)
        effects = np.vstack([effects, np.zeros(effects.shape[1])])
        products = effects @ effects.T
        lengths = np.diag(products)
        found = lengths[:-1, None] + lengths[None, :] - 2 * products[:-1]
        yield query.clique, found / query.sigma**2
        return
    for clique, reference in zip((view.clique for view in query.views), _references(run, query), strict=True):
        counts = run.table.marginal(clique)
        leaves = np.abs(counts - 1 - reference) - np.abs(counts - reference)
        enters = np.append(np.abs(counts + 1 - reference) - np.abs(counts - reference), 0)
        moved = leaves[:, None] + enters[None, :]
        np.fill_diagonal(moved, 0)
        yield clique, moved**2.0 / query.sigma**2


def _whitened(shape, query):
    """For each cell, the effect of one record on the answer, in coordinates in which noise has variance 1."""
    cells = np.eye(math.prod(shape))
    if query.view.boxes:
        inside = [np.zeros(shape) for _ in query.view.boxes]
        for region, box in zip(inside, query.view.boxes, strict=True):
            region[tuple(slice(start, stop) for start, stop in box)] = 1
        return np.column_stack([region.ravel() for region in inside])
    if query.view.interaction:
        # The noise of the cells crosses the differences as well, and is no longer independent.
        linear = np.array([differences(cell, shape) for cell in cells])
        return np.linalg.solve(np.linalg.cholesky(linear.T @ linear), linear.T).T
    return cells


def _references(run, query):
    sizes = query.cells(run.table.domain)
    return np.split(run.transcript.references[query.query_id], np.cumsum(sizes)[:-1])


def _errors(run, answer, table, colluder):
    """An answer minus its exact values on a table, independent and in units of the noise that is seen."""
    query, values = answer.query, run.values(answer, colluder)
    sigma = query.sigma * run.noise_factor(colluder)
    if isinstance(query, ScoreQuery):
        pairs = zip(query.views, _references(run, query), strict=True)
        exact = [np.abs(view.counted(table) - reference).sum() for view, reference in pairs]
        return (values - exact) / sigma
    shape = table.domain.shape(query.clique)
    counts = table.marginal(query.clique)
    if not query.view.interaction:
        return (values - counts @ _whitened(shape, query)) / sigma
    linear = np.array([differences(cell, shape) for cell in np.eye(math.prod(shape))])
    return np.linalg.solve(np.linalg.cholesky(linear.T @ linear), values - counts @ linear) / sigma


def errors(run, table=None, colluder=None):
    """All errors of a run's answers on a table, by default the real one; standard normal if all is right.

    Args:
        run: the run.
        table: the real table or a neighbour.
        colluder: a party whose noise is known, and no longer hides anything.
    """
    table = run.table if table is None else table
    return np.concatenate([_errors(run, answer, table, colluder) for answer in run.answers])


def likelihood_ratio(run, table, neighbour, colluder=None):
    """The log likelihood of the answers on a table minus that on its neighbour."""
    squares = [(errors(run, one, colluder) ** 2).sum() for one in (neighbour, table)]
    return float(squares[0] - squares[1]) / 2


def audited_mu(ratios, neighbour_ratios):
    """A lower bound on mu of Gaussian differential privacy, from how often likelihood ratios err.

    A mu-GDP mechanism forces quantile(1 - false alarms) - quantile(misses) <= mu on every test. Both rates
    are replaced by upper Clopper-Pearson bounds of confidence 1 - 1e-6, so the bound of a correct program
    exceeds its mu with probability at most 2e-6.
    """
    wrong = [(np.sum(np.array(ratios) <= 0), len(ratios))]
    wrong.append((np.sum(np.array(neighbour_ratios) > 0), len(neighbour_ratios)))
    upper = [1.0 if k == n else float(stats.beta.ppf(1 - 1e-6, k + 1, n - k)) for k, n in wrong]
    return max(0.0, float(-stats.norm.ppf(upper[0]) - stats.norm.ppf(upper[1])))


def alarms(run):
    """The checks of one run that fail; of a correct program, each with probability `ALPHA` at most.

    Returns:
        A set of: "cost", some record's loss exceeds what was stated; "noise", the errors are not those of the
        stated noise; "keys", two queries have one noise key; "masks", a party's words are not uniform.
    """
    found = set()
    if worst_squared_shift(run) > 2 * float(min(run.stated)) * (1 + 1e-9):
        found.add("cost")
    residuals = errors(run)
    if not ALPHA / 2 < stats.chi2.cdf((residuals**2).sum(), residuals.size) < 1 - ALPHA / 2:
        found.add("noise")
    fingerprints = [key for charged in run.keys for key in charged.values()]
    asked = sum(len(answer.words) for answer in run.answers)
    if len(set(fingerprints)) < asked:
        found.add("keys")
    if run.plan is not None and len(run.plan.roster) > 1 and not _masked(run):
        found.add("masks")
    return found


def _masked(run):
    """Whether no party sends more small words than uniform ones are, an eighth of the ring."""
    for place in range(len(run.plan.roster)):
        words = np.concatenate([answer.words[place] for answer in run.answers])
        small = np.sum(np.abs(words) < 1 << (run.plan.ring.bits - 4))
        if stats.binom.sf(small - 1, words.size, 1 / 8) < ALPHA:
            return False
    return True
