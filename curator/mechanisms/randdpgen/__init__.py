"""RandDPGen: rounds of selected and measured marginals."""
