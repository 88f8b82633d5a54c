"""PrivBayes and its Bayesian networks."""
