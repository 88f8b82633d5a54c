"""Secure marginals with central accuracy: parties sum in shares, and the curator sees only the noisy sum.

In protocol order: `ring` the numbers, `plan` participants and public facts, `presence` which parties of an
aligned slice have a person, `masks` the random words of a release, `products` secure products of two parties,
`reveal` noise and opening of the sum, `bounds` what the sum can be.
"""
