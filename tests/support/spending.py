"""What a run of a mechanism spent."""

from collections import Counter


def spent_by_step(measurer):
    """The share of the grant that each step was charged."""
    spent = Counter()
    for charge in measurer.accountant.charges:
        spent[charge.step] += charge.zcdp_rho / measurer.granted
    return {step: float(share) for step, share in spent.items()}
