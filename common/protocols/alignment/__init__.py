"""Alignment: parties of a slice give the rows of one person one position, and nobody learns who is where.

    each party    tokens of its rows, among dummies and in a random order, to the matcher;
    matcher       equal tokens get one position, in a random order of positions, with empty ones among them;
                  to each party the position of each of its tokens, and noisy numbers of people to all.

In protocol order: `plan` match keys and public facts, `dummies` tokens of nobody and all noise, `tokens`
identifiers under a key that the parties share, `ddh` under a key of every party, `matching` positions,
`alignment` how later plans refer to the result.

Guarantee: differential privacy of what each role sees, see `AlignmentNoise`, if there is one match key, no
party has two rows of one person, and nobody deviates. The matcher must not collude with a party: with the
shared key it could try identifiers, and subtract the dummies. With keying "ddh" it could only subtract.
"""
