"""Every setting of the mechanism; docs/mosaic-algorithm.md has the reason for each value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What of the algorithm could be otherwise. Shares are of the budget, sizes are relative to the records.

    Attributes:
        one_way: share for the first measurement of one-way marginals.
        rounds: number of rounds of scores.
        scores: share for all scores: those of each round and those of the released model.
        round: share for the measurements of one round, at most.
        survey: share for measuring all pairs if there are no scores.
        small_survey: share for measuring small pairs instead of scoring them, if these are all candidates.
        poor_score: small pairs are measured if the noise of a score exceeds this.
        small: a pair is small if its L1 noise is about this multiple of a score's noise at the same cost.
        useless: a candidate is left out if its L1 noise with the whole budget exceeds this.
        learned: share of the last round for pairs from which dependencies are learned.
        larger_scores: share for scores of interactions that are counted in groups.
        larger_rounds: share for their first measurements.
        larger_kept: share that is kept until larger interactions are scored.
        orders: numbers of attributes of larger interactions.
        tail: exponent of the prior of sizes.
        score_spread: relative deviation of an L1 norm from its expectation, of a score.
        reference_error: share of the error of smaller marginals that is expected in a score.
        none_spread: deviation of the logarithm of sizes where there is only sampling error.
        near_spread: deviation of the logarithm of distances from predictions.
        least_variance: least variance of a cell, as a share of its noise's.
        least_cell: smallest value of a cell that is raked, in records.
        chain_from: fewest values of an attribute whose counts are a chain of levels.
        smooth: prior share of the variance along an attribute that changes smoothly.
        correlation_length: distance, as a share of the records, at which the prior correlation is 1 / e.
        axis_observations: number of observations for which the prior covariance along an attribute counts.
        axis_interactions: covariances along an attribute are learned from so many of its interactions.
        most_values: covariances are learned of attributes of at most so many values.
        ranks: number of ranks of coefficients whose coupling is told apart.
        coupling_observations: number of coefficients for which no coupling counts.
        earlier_count: records added to a marginal of an earlier table, spread over its cells.
        earlier_asked: share for measurements that say whether an earlier table is right, at most.
        earlier_tells: they are made if it is so many deviations of their noise from a wrong one.
        earlier_enough: they cost no more than it takes for so many.
        drift: usual typical distance of interactions from those of an earlier table that is right.
        drift_spread: deviation of the logarithm of this.
        right: expected share of attributes whose counts are near those of an earlier table.
        left: log-odds against interactions that are weaker than those of an earlier table.
        factors: number of factors from which pairs are predicted.
        predicted_from: fewest attributes of a table whose pairs are predicted.
        fitted_noise: share of an interaction's noise variance that a fit of all marginals leaves.
        lost_count: what is lost of a one-way count below the noise, as a multiple of the count.
        least_part: an interaction with a smaller part of what is split is not measured.
        group_noise: L1 noise of a marginal of groups, if `group_share` of the budget measures it, at most.
        group_share: see `group_noise`.
        class_values: attributes of more values are grouped before those of at most so many,
        class_groups: down to so many groups.
        codes_tell: pairs are scored in groups if codes leave more of their size as error.
        groups_tell: pairs are measured in groups if these leave at most this share of what codes leave.
        few_left: pairs are measured in few groups if codes leave more of their size as error.
        most_few: most groups of an ordered attribute of a pair that would otherwise be measured in codes.
        detectable: so many larger interactions are scored that the noise of a score stays below this.
        large: interactions of four and more attributes are made from those of this size, and larger.
        tells: a larger interaction is measured if this takes its error below this share of its size.
        told_by: share of the budget with which it must.
        tolerated: what larger interactions may add to the workload's expected error, relative to it.
        dominant: larger interactions of more than this size may cost more:
        for_dominant: this multiple of what the largest exceeds it by.
        of_sampling: what they may add in any case, relative to the workload's sampling error.
        weights: of a larger interaction beside the workload's marginals; the first that is tolerated counts.
    """

    one_way: float = 0.1
    rounds: int = 4
    scores: float = 0.03
    round: float = 0.03
    survey: float = 0.3
    small_survey: float = 0.2
    poor_score: float = 0.1
    small: int = 2
    useless: float = 8.0
    learned: float = 0.1
    larger_scores: float = 0.006
    larger_rounds: float = 0.03
    larger_kept: float = 0.15
    orders: tuple[int, ...] = (3, 4, 5)
    tail: float = 3.0
    score_spread: float = 0.3
    reference_error: float = 0.5
    none_spread: float = 0.3
    near_spread: float = 0.7
    least_variance: float = 0.1
    least_cell: float = 0.001
    chain_from: int = 32
    smooth: float = 0.7
    correlation_length: float = 0.5
    axis_observations: float = 30.0
    axis_interactions: int = 40
    most_values: int = 512
    ranks: int = 6
    coupling_observations: float = 10.0
    earlier_count: float = 1.0
    earlier_asked: float = 0.02
    earlier_tells: float = 2.5
    earlier_enough: float = 4.0
    drift: float = 0.03
    drift_spread: float = 1.0
    right: float = 0.3
    left: float = 1.0
    factors: int = 8
    predicted_from: int = 5
    fitted_noise: float = 0.7
    lost_count: float = 2.0
    least_part: float = 1e-6
    group_noise: float = 0.35
    group_share: float = 0.05
    class_values: int = 10
    class_groups: int = 4
    codes_tell: float = 0.3
    groups_tell: float = 0.8
    few_left: float = 0.7
    most_few: int = 8
    detectable: float = 0.1
    large: float = 0.05
    tells: float = 0.8
    told_by: float = 0.02
    tolerated: float = 0.01
    dominant: float = 0.25
    for_dominant: float = 0.4
    of_sampling: float = 0.025
    weights: tuple[float, ...] = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)


SETTINGS = Settings()
"""Of every release. Benchmarks replace fields of it to say what each part contributes."""
