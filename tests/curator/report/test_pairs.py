from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.report.pairs import CertifiedPairs
from support.certificates import bounded


def pairs_of(form):
    return CertifiedPairs(Certificate.from_json(form))


def test_pairs_are_modelled_measured_and_held_together_as_certified(certificate):
    certificate["model"]["cliques"] = [["kind", "age", "code"], ["town"]]
    certificate["plan"]["parties"][1] = [["kind"], ["age", "code", "town"]]
    pairs = pairs_of(certificate)
    assert pairs.modelled == {("kind", "age"), ("kind", "code"), ("age", "code")}
    assert pairs.measured == {("kind", "age"), ("age", "code"), ("code", "town")}
    assert [pair for pair in pairs.all if pairs.together(pair)] == [("code", "town")]


def test_a_pair_has_its_own_bound_or_that_of_the_larger_marginal_of_the_fewest_cells(certificate):
    """Of kind x age x town and kind x age x code the second has fewer cells, though its bound is larger."""
    certificate["error_bounds"] = [
        bounded("kind", "age", "town", total_variation=0.1),
        bounded("kind", "age", "code", total_variation=0.3),
        bounded("kind", "code", total_variation=0.4),
    ]
    bounds = pairs_of(certificate).bounds
    assert bounds == {
        ("kind", "age"): 0.3,
        ("kind", "code"): 0.4,
        ("kind", "town"): 0.1,
        ("age", "code"): 0.3,
        ("age", "town"): 0.1,
    }
