"use strict";

// What the dry run of a release expects: the default mechanism, rows in one place, columns of equally many values.
// `given` holds the constants of the program; whoever shows a number takes it from here.
const forecaster = (given) => {
  const erfc = (x) => {
    if (x < 0) return 2 - erfc(-x);
    if (x > 3) {
      // The continued fraction of Laplace, from its end.
      let rest = x;
      for (let n = 100; n > 0; n--) rest = x + n / 2 / rest;
      return Math.exp(-x * x) / Math.sqrt(Math.PI) / rest;
    }
    let [term, sum] = [x, x];
    for (let n = 1; term > sum * 1e-18; n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  };
  const normal = (x) => erfc(-x / Math.SQRT2) / 2;

  // Distance of the table with and without a record, in standard deviations of the noise.
  const muOf = (epsilon, delta) => {
    const spends = (mu) => {
      const lower = normal(-mu / 2 - epsilon / mu);
      return normal(mu / 2 - epsilon / mu) - (lower ? Math.exp(epsilon + Math.log(lower)) : 0);
    };
    let [low, high] = [1e-12, 1e6];
    for (let n = 0; n < 100; n++) {
      const middle = Math.sqrt(low * high);
      if (spends(middle) <= delta) low = middle;
      else high = middle;
    }
    return low;
  };

  const errors = ({ rows, columns, values, epsilon, delta }) => {
    const mu = muOf(epsilon, delta);
    const rho = (mu * mu) / 2;
    const cells = values * values;
    const [ofCount, ofPair] = [1 - 1 / values, (1 - 1 / values) ** 2];
    // Deviation of one cell if a part of the budget measures an interaction of this squared sensitivity.
    const sigma = (part, squared) => Math.sqrt(squared / (2 * rho * part));
    const distance = (deviation, size) => Math.min(1, (given.expected_l1 * deviation * size) / (2 * rows));
    const together = (...deviations) => deviations.reduce((sum, one) => sum + one ** -2, 0) ** -0.5;
    const result = (size, least, largest) => ({
      sigma: [least, largest],
      error: [distance(least, size), distance(largest, size)],
    });

    const pairs = (columns * (columns - 1)) / 2;
    const fits = values <= given.max_values && cells <= given.candidate_mb * 2 ** 17;
    const useful = given.expected_l1 * sigma(1, ofPair) * cells <= given.useless * rows;
    const seconds = given.s_per_candidate + given.s_per_record * Math.min(rows, given.most_counted) + cells * given.s_per_cell;
    const affordable = Math.min(
      given.max_candidates,
      Math.floor(given.candidate_cells / cells),
      Math.floor((given.candidates_share * given.seconds) / seconds),
    );
    const measured = fits && useful ? Math.min(pairs, affordable) : 0;
    const found = { mu, right: normal(mu / 2), pairs, measured };
    if (!measured) {
      const each = sigma(1 / columns, ofCount);
      return { ...found, count: result(values, each, each), pair: null };
    }

    const scored = sigma(given.scores / ((given.rounds + 1) * measured), 1);
    const asSurvey = (values - 1) ** 2 <= given.small && scored > given.poor_score * rows;
    const [survey, inRounds] = asSurvey ? [given.small_survey, 0] : [0, given.rounds * given.round];
    const last = 1 - given.one_way - survey - inRounds - (asSurvey ? 0 : given.scores) - larger(rows, columns, values, rho);

    const first = sigma(given.one_way / columns, ofCount);
    const count = result(values, together(first, sigma(last, ofCount)), first);
    // The last round divides its budget by sizes; at best, it has no other pair to measure.
    const whole = columns * (values - 1) ** (2 / 3) + measured * (values - 1) ** (4 / 3);
    const shared = sigma((last * (values - 1) ** (4 / 3)) / whole, ofPair);
    const alone = sigma(last, ofPair);
    const certain = sigma(survey / measured, ofPair);
    const pair = asSurvey
      ? result(cells, together(certain, alone), certain)
      : result(cells, together(sigma(inRounds, ofPair), alone), shared);
    return { ...found, count, pair };
  };

  // What looking for interactions of groups of codes takes of the budget.
  const larger = (rows, columns, values, rho) => {
    const drawn = Math.min(given.rows[1], Math.max(given.rows[0], rows));
    const adjusted = Math.min(given.sweep_work, drawn * (columns - 1) * columns * values);
    if (given.drafts * adjusted * given.s_per_adjusted > given.larger_share * given.seconds) return 0;
    const noise = Math.sqrt(1 / (2 * rho * given.group_share));
    const cells = Math.min(given.grouped_cells, (given.group_noise * rows) / (given.expected_l1 * noise));
    const pairsToo = values * values > cells;
    const times = given.orders + (pairsToo ? 1 : 0);
    const most = Math.min(
      given.most_scored,
      2 * rho * (given.larger_scores / times) * (given.detectable * rows) ** 2,
      (given.scoring_share * given.seconds) / (given.s_per_scored_larger + given.s_per_record_of_larger * rows),
    );
    const some = most >= 1 && ((columns > 2 && cells >= 8) || (pairsToo && cells >= 4));
    return some ? given.larger_scores + given.larger_rounds : 0;
  };

  return { errors };
};

if (typeof module !== "undefined") module.exports = forecaster;
