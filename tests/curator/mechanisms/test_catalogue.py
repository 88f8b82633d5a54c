"""Mechanisms by name, with parameters as text."""

import pytest

from dpmosaic.common.errors import DataError
from dpmosaic.curator.mechanisms.aim import AIM
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, mechanism_named, parameters
from dpmosaic.curator.mechanisms.dp_gan.dp_gan import DPGan
from dpmosaic.curator.mechanisms.mwem import MWEM
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_name_gives_the_mechanism_of_that_name_with_its_defaults(name):
    entry = CATALOGUE[name]
    mechanism = mechanism_named(name)
    assert mechanism.name == name
    assert mechanism == entry.variants["default"]()
    assert "\n" not in entry.what + entry.use
    assert set(entry.on_paper) < set(entry.variants)
    defaults = {parameter.name: str(parameter.default).lower() for parameter in parameters(name)}
    assert mechanism_named(name, settings=defaults) == mechanism


def test_parses_settings_by_the_types_of_the_parameters():
    assert mechanism_named("aim", settings={"alpha": "0.8", "maxsize": "50"}) == AIM(alpha=0.8, maxsize=50)
    assert mechanism_named("mwem", settings={"rounds": "7"}) == MWEM(rounds=7)
    assert mechanism_named("mwem", settings={"rounds": "none"}) == MWEM()
    assert mechanism_named("privbayes", settings={"consistency": "false"}) == PrivBayes(consistency=False)
    assert mechanism_named("dp-gan", settings={"checkpoint": "a.pt"}) == DPGan(checkpoint="a.pt")
    assert mechanism_named("dp-gan", settings={"checkpoint": "none"}) == DPGan()
    chosen = mechanism_named("randdpgen", settings={"selection": "marginals"})
    assert chosen == RandDPGen(selection="marginals")


def test_settings_change_a_variant_where_it_stands():
    changed = mechanism_named("randdpgen", "paper", {"beta": "0.3"})
    assert changed == RandDPGen(variant="paper", alpha=0.1, beta=0.3, allocation="attributes")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("magic", {}, "randdpgen, aim, mst, mwem, absyn, ppsyn, privbayes, dp-select, dp-gan, independent"),
        (
            "aim",
            {"rounds": "3"},
            r"alpha \(a number above 0 and below 1\), rounds_per_attr",
        ),
        ("randdpgen", {"variant": "paper"}, "parameter of randdpgen"),
        ("independent", {"alpha": "1"}, "expected one of none"),
        ("aim", {"alpha": "much"}, "parameter alpha: expected a number above 0 and below 1, got 'much'"),
        ("aim", {"maxsize": "1.5"}, "maxsize: expected a whole number of at least 2"),
        ("randdpgen", {"selection": "luck"}, "expected scores or marginals"),
        ("mwem", {"rounds": "many"}, "expected none or a whole number of at least 1"),
        ("privbayes", {"consistency": "1"}, "consistency: expected true or false, got '1'"),
        ("dp-gan", {"device": "tpu"}, "expected cpu or cuda"),
        ("aim", {"alpha": "2"}, "a number above 0 and below 1, got '2'"),
        ("aim", {"alpha": "nan"}, "a number above 0 and below 1"),
        ("aim", {"alhpa": "0.5"}, "did you mean 'alpha'"),
        ("mosiac", {}, "did you mean 'mosaic'"),
    ],
)
def test_refuses_unknown_names_and_settings_and_lists_the_known_ones(name, settings, message):
    with pytest.raises(DataError, match=message):
        mechanism_named(name, settings=settings)


def test_refuses_an_unknown_variant_and_lists_the_known_ones():
    with pytest.raises(DataError, match="default"):
        mechanism_named("independent", "paper")
