"""Secure scores: from shares of d, three evaluators compute shares of the sum of |d| over each clique.

For every cell of a clique, d is its count minus a public reference, modulo 2^w. It is reshared as d = a + b:
evaluator 0, the assistant, knows a, from which it subtracts the reference; evaluators 1 and 2 know b.

    tables      the assistant shares the products of the bits of each digit of a; from them and b the other
                two compute shares of g (the digit carries) and p (it passes a carry on);
    carries     g and p are reshared: each evaluator holds two of three components;
    layers      neighbouring digits are merged, until one g is left, the carry into the highest bit;
    signs       the sign is s = u xor v: u known to the assistant, v to the other two. The assistant shares
                (-1)^u a and u as words, and |d| = (-1)^v ((-1)^u a + (1 - 2 u) b) is a local sum of the other
                two;
    proofs      each evaluator proves to the other two that all its messages are as above.

All random words come from the keys of the three pairs; nobody else deals any.

In protocol order: `query` resharing, `shape` public facts and lengths of messages, `bits` packed bits,
`carry` digits and their merging, `replicated` products of shared bits, `evaluator` the steps of each role,
`exchange` messages of a stage, `relations` what must hold between messages, `proof` a proof that it does,
`checking` its messages, `run` all messages of one evaluator.

Guarantee: perfect privacy against one evaluator, if the streams of the pairs were uniform: all that it
receives is uniform for any inputs of the other two, or follows from the rest. An evaluator that sends other
messages than these is caught before a share of a score leaves, except with probability below 2^-40; what is
left to it is to add constants to the scores or to its part of d. The sign is that of all w bits, so |d| is
1-Lipschitz on the circle of residues: if constants are added to the shares of cells, a record still changes
a score by at most 1 modulo 2^w.

Source: Araki, Furukawa, Lindell, Nof, Ohara 2016 (replicated shares of bits); Ishai, Kushilevitz, Meldgaard,
Orlandi, Paskin-Cherniavsky 2013 (tables in place of gates); Brent, Kung 1982 (prefix trees).
"""
