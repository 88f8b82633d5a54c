"""Secure marginals at central accuracy: parties add up in shares, and the curator sees the noisy sum alone.

In protocol order: `ring` the numbers, `plan` who takes part and what is public, `products` how two parties
multiply what neither may see, `reveal` how noise is added and the sum opened.
"""
