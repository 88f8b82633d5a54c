"""Scores that nobody sees: two evaluators turn shares of d into shares of the sum of |d| over each clique.

Every cell of a clique has d = its count minus a public reference, additively shared by evaluators 0 and 1. A
dealer gives them correlated randomness beforehand and sees nothing of what they open to each other:

    round 0       delta = d - b, with b a uniform word whose bits the dealer has shared too;
    each layer    factors of the carry of delta + b into its highest bit, under mask bits;
    last round    e = the sign of d, under a shared bit; then |d| = (-1)^e (rho delta + rho b),
                  where the dealer has shared rho = 1 or -1 and rho b.

In protocol order: `shape` what is public and how long every message is, `carry` the circuit of the carry,
`bits` shares of bits packed eight to a byte, `dealer` what is expanded and dealt, `evaluator` the rounds.

Guarantee: perfect privacy against one evaluator that keeps to the protocol, were the streams uniform: all
that it receives is uniform whatever the other one holds, because each bit of it has a pad of its own. The
dealer must not collude with an evaluator, nor read the openings: with delta it has d. Nothing is
authenticated: who deviates changes the scores unnoticed.

Source: Beaver 1991, 1995 (products of masked values from dealt randomness); Escudero, Ghosh, Keller,
Rachuri, Scholl 2020 (a shared word with its shared bits); Ishai, Kushilevitz, Meldgaard, Orlandi,
Paskin-Cherniavsky 2013 (dealt tables); Bedrij 1962 (carry select); Brent, Kung 1982 (prefix trees); Ohata,
Nuida 2020 (products of more than two bits in one round); Rotaru, Wood 2019 (a bit shared in both ways).
"""
