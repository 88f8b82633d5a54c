"""Whether tests of hypotheses are what they say: how often they reject without an effect, and with one.

Each release is of a new made-up trial: `label` has nothing to do with anything, `arm` has an effect on
scores, on the hazard of death and on the share of severe cases. Every test is made with both, at level 5 %.
Beside the share of releases in which it rejects stand the share that the release refused for want of power (a
refusal is no rejection), and how often the same test by scipy or statsmodels rejects on the real table.

Run: python benchmarks/hypotheses.py [--rows 5000] [--epsilon 1] [--releases 40]
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Mapping

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.stats import chi2_contingency, mannwhitneyu, ttest_ind
from statsmodels.duration.survfunc import survdiff

import dpmosaic
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.release import Release

LEVEL = 0.05
DOMAIN = {
    "age": {"type": "numeric", "min": 20, "max": 89, "integer": True, "bins": 70},
    "score": {"type": "numeric", "min": 0, "max": 60, "integer": True, "bins": 61},
    "months": {"type": "numeric", "min": 0, "max": 36, "integer": True, "bins": 37},
    "dead": ["no", "yes"],
    "severity": ["low", "middle", "high"],
    "arm": ["control", "new"],
    "label": ["a", "b"],
}
GROUPS = {"label": ("a", "b"), "arm": ("control", "new")}


def trial(rows: int, seed: int) -> pd.DataFrame:
    """A trial in which the arm has effects, and the label has none."""
    rng = np.random.default_rng(seed)
    arm, label = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    age = np.clip(np.round(rng.normal(55, 13, rows)), 20, 89)
    shares = np.array([[0.45, 0.35, 0.2], [0.55, 0.3, 0.15]])
    severity = (rng.random(rows)[:, None] > shares.cumsum(axis=1)[arm]).sum(axis=1)
    score = np.clip(np.round(25 + 0.1 * (age - 55) + 3 * severity - 3 * arm + rng.normal(0, 8, rows)), 0, 60)
    hazard = 0.012 * np.exp(0.4 * severity + 0.02 * (age - 55) - 0.5 * arm)
    death, end = rng.exponential(1 / hazard), rng.uniform(6, 36, rows)
    texts = {
        "dead": np.where(death <= end, "yes", "no"),
        "severity": np.array(DOMAIN["severity"])[severity],
        "arm": np.array(DOMAIN["arm"])[arm],
        "label": np.array(DOMAIN["label"])[label],
    }
    numbers = {"age": age, "score": score, "months": np.floor(np.minimum(death, end))}
    return pd.DataFrame(numbers | {name: values.astype(object) for name, values in texts.items()})


def private(release: Release, group: str) -> Mapping[str, float]:
    """The p-value of each test by a release; NaN if it is refused, or if the release has one group alone."""
    between = (group, *GROUPS[group])
    event, adjust = ("dead", "yes"), ["severity", "age"]

    def p_value(*asked: str, **options: object) -> float:
        try:
            return release.test(*asked, **options).p_value
        except DataError:
            return float("nan")

    return {
        "t": p_value("t", "score", between=between),
        "Mann-Whitney": p_value("mann-whitney", "score", between=between),
        "chi-square": p_value("chi-square", "severity", group),
        "log-rank": p_value("log-rank", "months", event=event, between=between),
        "linear": p_value("coefficients", f"score ~ severity + {group}", term=group),
        "logistic": p_value("coefficients", f"dead ~ severity + {group}", term=group, logistic=True),
        "effect, regression": p_value("effect", "score", between=between, adjust=adjust),
        "effect, weighting": p_value("effect", "score", between=between, adjust=adjust, by="weighting"),
    }


def public(frame: pd.DataFrame, group: str) -> Mapping[str, float]:
    """The p-value of each test by the real table."""
    member = (frame[group] == GROUPS[group][1]).astype(float)
    severe = pd.get_dummies(frame["severity"], drop_first=True).astype(float)
    first, second = frame["score"][member == 0], frame["score"][member == 1]
    dead = (frame["dead"] == "yes").astype(float)
    with_group = sm.add_constant(severe.assign(group=member))
    adjusted = with_group.assign(age=frame["age"])
    chance = sm.Logit(member, adjusted.drop(columns="group")).fit(disp=0).predict()
    weights = member / chance + (1 - member) / (1 - chance)
    weighted = sm.WLS(frame["score"], sm.add_constant(member), weights=weights).fit(cov_type="HC0")
    return {
        "t": ttest_ind(first, second, equal_var=False).pvalue,
        "Mann-Whitney": mannwhitneyu(first, second).pvalue,
        "chi-square": chi2_contingency(pd.crosstab(frame["severity"], frame[group])).pvalue,
        "log-rank": survdiff(frame["months"], dead, member)[1],
        "linear": sm.OLS(frame["score"], with_group).fit(cov_type="HC0").pvalues["group"],
        "logistic": sm.Logit(dead, with_group).fit(disp=0).pvalues["group"],
        "effect, regression": sm.OLS(frame["score"], adjusted).fit(cov_type="HC0").pvalues["group"],
        "effect, weighting": weighted.pvalues.iloc[1],
    }


def main() -> None:
    """Prints how often each test rejects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--releases", type=int, default=40)
    asked = parser.parse_args()
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for seed in range(asked.releases):
        frame = trial(asked.rows, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = dpmosaic.synthesize(
                frame, epsilon=asked.epsilon, domain=DOMAIN, seed=seed, progress=False
            )
            for group in GROUPS:
                real = public(frame, group)
                for test, p in private(release, group).items():
                    found[test, group].append((p, real[test]))
    print(f"{asked.releases} releases of {asked.rows} rows at epsilon {asked.epsilon:g}, level {LEVEL:g}")
    print(f"{'':20} {'without an effect':>30} {'with one':>30}")
    print(f"{'':20} {'rejects':>10} {'refused':>9} {'real':>9} {'rejects':>10} {'refused':>9} {'real':>9}")
    for test in dict.fromkeys(test for test, _ in found):
        line = f"{test:20}"
        for group in GROUPS:
            ours, real = np.array(found[test, group]).T
            rejects, refused = np.mean(ours < LEVEL), np.mean(np.isnan(ours))
            line += f" {rejects:10.3f} {refused:9.3f} {np.mean(real < LEVEL):9.3f}"
        print(line)
    null = np.concatenate([np.array(p)[:, 0] for (_, group), p in found.items() if group == "label"])
    made = null[~np.isnan(null)]
    print(f"without an effect, of {len(made)} tests that were made: {np.mean(made < LEVEL):.3f} reject")


if __name__ == "__main__":
    main()
