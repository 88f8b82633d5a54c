"""DP-SGD against gradients of single records, and a training that learns and can be resumed."""

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'gan' is not installed")
pytest.importorskip("opacus", reason="the extra 'gan' is not installed")

from opacus.accountants import RDPAccountant as OpacusAccountant  # noqa: E402
from scipy.stats import chi2  # noqa: E402

from dpmosaic.common.crypto.randomness import RandomStream  # noqa: E402
from dpmosaic.common.data.domain import Domain  # noqa: E402
from dpmosaic.common.data.table import Table  # noqa: E402
from dpmosaic.common.privacy.budget import Accountant, Budget  # noqa: E402
from dpmosaic.common.privacy.renyi import SampledGaussian  # noqa: E402
from dpmosaic.curator.certificates.composition import composition  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.encoding import RecordEncoding  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.model import GeneratorModel  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.networks import critic  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.private_optimizer import GRID, DiscreteNoiseOptimizer, clipped_norm  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.settings import GanSettings, training_charge  # noqa: E402
from dpmosaic.curator.mechanisms.dp_gan.training import Training, poisson_sample  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.gan]

DOMAIN = Domain.coded({"a": 3, "b": 3, "c": 2})
SMALL = GanSettings(hidden=8, latent=4)


def chained(records, seed=0):
    """A table whose second attribute is the first one in nine of ten records."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, records)
    b = np.where(rng.random(records) < 0.9, a, rng.integers(0, 3, records))
    return Table.from_codes(DOMAIN, np.column_stack([a, b, rng.integers(0, 2, records)]))


def training_of(table, settings=SMALL, steps=None, seed=1, state=None):
    encoding = RecordEncoding.of(DOMAIN, {n: table.marginal((n,)).astype(float) for n in DOMAIN})
    steps = steps or SampledGaussian(0.1, 1.0, 20)
    training = Training(encoding, settings, steps, table.record_count, RandomStream.from_seed(seed), state)
    return training, encoding


def quiet():
    """Ignores the progress."""


def test_sums_the_separately_clipped_gradients_of_records():
    table = chained(30)
    training, encoding = training_of(table, GanSettings(hidden=8, latent=4, max_grad_norm=0.6))
    rows = torch.from_numpy(encoding.encode(table)).double() * torch.linspace(0, 9, 30)[:, None]
    found = training._clipped_sum(rows, -1.0)
    bound = clipped_norm(0.6, sum(p.numel() for p in training._critic.parameters()))
    expected = [torch.zeros_like(p) for p in training._critic.parameters()]
    norms = []
    bare = critic(encoding, 4).double()
    bare.load_state_dict(training._critic._module.state_dict())
    for row in rows:
        gradients = torch.autograd.grad(bare(row[None]).sum(), list(bare.parameters()))
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradients))
        norms.append(norm)
        for total, gradient in zip(expected, gradients, strict=True):
            total -= gradient * min(1.0, bound / (norm + 1e-6))
    assert min(norms) < bound < max(norms)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-12)


def test_one_more_record_changes_the_integer_sums_by_at_most_the_grid():
    table = chained(200)
    training, encoding = training_of(table, GanSettings(hidden=8, latent=4, max_grad_norm=0.05))
    rows = torch.from_numpy(encoding.encode(table)).double() * 50
    unit = 0.05 / GRID
    whole = [
        torch.cat([torch.round(g / unit).flatten() for g in training._clipped_sum(part, -1.0)])
        for part in (rows, rows[1:], rows[:1])
    ]
    assert 0.98 * GRID < float((whole[0] - whole[1]).norm()) <= GRID
    assert float(whole[2].norm()) <= GRID


def test_noise_has_the_stated_scale_in_units_of_the_clipping_norm():
    """A chi-square test of 3000 draws that fails with probability 2 * 10^-4 for a correct program."""
    parameter = torch.nn.Parameter(torch.zeros(3000, dtype=torch.float64))
    optimizer = DiscreteNoiseOptimizer(
        torch.optim.SGD([parameter], lr=1.0),
        noise_multiplier=1.5,
        max_grad_norm=0.2,
        expected_batch_size=10.0,
        stream=RandomStream.from_seed(3),
    )
    parameter.grad = torch.zeros_like(parameter)
    optimizer.add_public_gradients([torch.full_like(parameter, 7.0)])
    optimizer.step()
    noise = (-parameter.detach().numpy() - 7.0) * 10.0
    statistic = float((noise**2).sum()) / (1.5 * 0.2) ** 2
    assert chi2.ppf(1e-4, 3000) < statistic < chi2.ppf(1 - 1e-4, 3000)
    assert np.allclose(noise / (0.2 / GRID), np.rint(noise / (0.2 / GRID)), atol=1e-3)


def test_samples_each_record_independently_at_the_rate():
    """Counts within six standard deviations: each check fails with probability below 10^-8."""
    streams = [RandomStream.from_seed(seed) for seed in range(400)]
    samples = np.zeros((400, 500), dtype=bool)
    for row, stream in zip(samples, streams, strict=True):
        row[poisson_sample(500, 0.05, stream)] = True
    assert abs(samples.sum() - 10_000) < 6 * math.sqrt(10_000)
    sizes = samples.sum(axis=1)
    assert 0.5 < sizes.var() / (500 * 0.05 * 0.95) < 1.7
    assert poisson_sample(5, 1.0, streams[0]).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rate", "multiplier", "steps"), [(0.01, 2.5, 2000), (0.05, 1.0, 100), (0.2, 5.0, 60)]
)
def test_opacus_accounts_for_the_training_as_the_certificate_does(rate, multiplier, steps):
    plan = SampledGaussian(rate, multiplier, steps)
    budget = Budget(8.0, 1e-6)
    accountant = Accountant(10**6).charge(training_charge(plan, budget.order.alpha))
    ours = composition(accountant, 8.0, 1e-6)["epsilon_by_dp_accounting"]
    theirs = OpacusAccountant()
    theirs.history = [(multiplier, rate, steps)]
    assert ours == pytest.approx(theirs.get_epsilon(1e-6), rel=0.01)


def test_a_training_with_little_noise_learns_the_dependence():
    table = chained(3000)
    settings = GanSettings(hidden=32, latent=8, learning_rate=5e-3)
    training, encoding = training_of(table, settings, SampledGaussian(0.05, 0.01, 450))

    def apart(generator):
        model = GeneratorModel(encoding, generator, 3000, RandomStream.from_seed(4))
        return np.abs(model.marginal(("a", "b")) - table.marginal(("a", "b"))).sum() / 6000

    before = apart(training.generator())
    training.run(encoding.encode(table), quiet)
    assert apart(training.generator()) < 0.85 * before


def test_reports_progress_ten_times():
    table = chained(100)
    training, encoding = training_of(table, steps=SampledGaussian(0.1, 1.0, 40))
    seen = []
    training.run(encoding.encode(table), lambda: seen.append(training.taken))
    assert seen == list(range(4, 41, 4))


def weights(training):
    return torch.cat([p.detach().flatten() for p in training.generator().parameters()])


def test_a_stopped_training_resumes_with_its_networks_and_fresh_samples(tmp_path):
    class Stop(Exception):
        pass

    table = chained(200)
    stopped, encoding = training_of(table)

    def stop():
        if stopped.taken == 10:
            raise Stop

    with pytest.raises(Stop):
        stopped.run(encoding.encode(table), stop)
    state = stopped.state()
    resumed, _ = training_of(table, state=state)
    assert resumed.taken == 10
    assert torch.equal(weights(resumed), weights(stopped))
    drawn = [
        t._samples.words(4).tolist() for t in (training_of(table)[0], training_of(table, state=state)[0])
    ]
    assert drawn[0] != drawn[1]
    resumed.run(encoding.encode(table), quiet)
    assert resumed.taken == 20
    assert not torch.equal(weights(resumed), weights(stopped))


def test_one_seed_gives_one_generator_and_another_seed_another():
    table = chained(200)
    found = []
    for seed in (1, 1, 2):
        training, encoding = training_of(table, seed=seed)
        training.run(encoding.encode(table), quiet)
        found.append(weights(training))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_trains_on_a_table_whose_samples_are_empty():
    table = chained(3)
    training, encoding = training_of(table, steps=SampledGaussian(0.01, 1.0, 5))
    training.run(encoding.encode(table), quiet)
    assert torch.isfinite(weights(training)).all()


def test_rows_are_drawn_by_the_seed_and_marginals_are_scaled_to_the_records(tmp_path):
    table = chained(200)
    training, encoding = training_of(table)
    model = GeneratorModel(encoding, training.generator(), 200, RandomStream.from_seed(4))
    one, again, other = (model.generate(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert [c.tolist() for c in one.columns] == [c.tolist() for c in again.columns]
    assert [c.tolist() for c in one.columns] != [c.tolist() for c in other.columns]
    for pair in itertools.combinations(DOMAIN.names, 2):
        assert model.marginal(pair).sum() == pytest.approx(200)
    model.save(tmp_path / "model.npz")
    kept = np.load(tmp_path / "model.npz")
    assert {"modes_a", "within_a", "weights_head.bias"} <= set(kept.files)
