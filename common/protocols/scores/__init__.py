"""Secure scores: from shares of d, two evaluators compute shares of the sum of |d| over each clique.

For every cell of a clique, d is its count minus a public reference, additively shared by evaluators 0 and 1.
A dealer gives them correlated randomness in advance and does not see their openings:

    round 0       delta = d - b, with b a uniform word whose bits the dealer has shared too;
    each layer    factors of the carry of delta + b into its highest bit, under mask bits;
    last round    e = the sign of d, under a shared bit; then |d| = (-1)^e (rho delta + rho b),
                  where the dealer has shared rho = 1 or -1 and rho b.

In protocol order: `shape` public facts and lengths of messages, `carry` the circuit of the carry, `bits`
shares of packed bits, `dealer` correlated randomness, `evaluator` the rounds.

Guarantee: perfect privacy against one semi-honest evaluator, if the streams were uniform: all that it
receives is uniform for any inputs of the other one, because each bit has its own pad. The dealer must not
collude with an evaluator, nor read the openings: from delta it could compute d. Nothing is authenticated: an
evaluator that deviates changes the scores undetected.

Source: Beaver 1991, 1995 (products of masked values from dealt randomness); Escudero, Ghosh, Keller,
Rachuri, Scholl 2020 (a shared word with its shared bits); Ishai, Kushilevitz, Meldgaard, Orlandi,
Paskin-Cherniavsky 2013 (dealt tables); Bedrij 1962 (carry select); Brent, Kung 1982 (prefix trees); Ohata,
Nuida 2020 (products of more than two bits in one round); Rotaru, Wood 2019 (a bit shared in both ways).
"""
