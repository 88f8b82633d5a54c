import json

import pytest

from dpmosaic.common.about import About
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.federation.card import DEALER, Card
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency
from dpmosaic.curator.mechanisms.mst import MST
from dpmosaic.curator.parties.connection import RetryPolicy
from dpmosaic.curator.releasing.over_parties import order_of
from dpmosaic.curator.releasing.planning.drafting import draft
from dpmosaic.curator.releasing.planning.plan import ReleasePlan
from support.cards import cards

RELEASE = '[release]\ndomain = "d.json"\n'
SLICE = '[[slice]]\nparties = ["a", "b"]\n'


def loaded(folder, text):
    (folder / "d.json").write_text('{"x": 2, "y": 3}')
    (folder / "plan.toml").write_text(text)
    return ReleasePlan.load(folder / "plan.toml")


GRID = cards(n_a={"x": 2, "z": 2}, n_b={"y": 3}, s_a={"x": 2, "z": 2}, s_b={"y": 3})


def test_a_draft_groups_parties_with_different_attributes_and_loads(tmp_path):
    text, domain = draft(GRID, None, "d.json")
    assert (tmp_path / "d.json").write_text('{"x": 2, "z": 2, "y": 3}')
    (tmp_path / "plan.toml").write_text(text)
    plan = ReleasePlan.load(tmp_path / "plan.toml")
    assert plan.slices == (("n-a", "n-b"), ("s-a", "s-b"))
    assert plan.domain == domain
    assert (plan.spec.protocol, plan.spec.collusions, plan.spec.budget.epsilon) == ("masked", 1, 1.0)


def test_a_draft_uses_the_given_slices():
    text, _ = draft(GRID, [["n-a", "s-b"], ["s-a", "n-b"]], "d.json")
    assert 'parties = ["n-a", "s-b"]' in text


def test_a_draft_for_open_bins_gives_their_choice_a_share_of_the_promise(tmp_path):
    held = {"x": {"type": "numeric", "min": 0, "max": 9, "bins": "auto"}}
    text, domain = draft(cards(a=held, b={"y": 3}), None, "d.json")
    (tmp_path / "d.json").write_text(json.dumps(domain.to_json()))
    (tmp_path / "plan.toml").write_text(text)
    assert ReleasePlan.load(tmp_path / "plan.toml").bins_share == 0.1
    assert "bins of x" in text
    assert "[bins]" not in draft(GRID, None, "d.json")[0]


def test_a_draft_keeps_the_parties_order_of_attributes():
    _, domain = draft(
        cards(a={"x": 2, "z": 2}, b={"y": 2}, c={"x": 2, "y": 2}, d={"z": 2}),
        [["a", "b"], ["c", "d"]],
        "d.json",
    )
    assert domain.names.index("x") < domain.names.index("z")
    assert domain.names.index("x") < domain.names.index("y")


@pytest.mark.parametrize(
    ("held", "slices", "reason"),
    [
        ({"a": {"x": 2}, "b": {"x": 2}}, [["a", "b"]], "all attributes of 'b'; omit it"),
        ({"a": {"x": 2}, "b": {"x": 3, "y": 2}}, [["a", "b"]], "codes 'x' differently"),
        ({"a": {"x": 2}, "b": {"x": 3}}, None, "codes 'x' differently"),
        ({"a": {"x": 2}, "b": {"x": 2, "y": 2}}, None, "slice 2 differs from slice 1 in y"),
        ({"a": {"x": 2}}, [["a", "z"]], "not enrolled: z"),
        ({}, None, "no party is"),
        ({"a": {"x": 2, "y": 2}, "b": {"y": 2, "x": 2}}, None, "opposite orders"),
    ],
)
def test_refuses_cards_that_do_not_partition_one_table(held, slices, reason):
    with pytest.raises(DataError, match=reason):
        draft(cards(**held), slices, "d.json")


def test_the_party_with_the_fewest_attributes_answers_for_shared_ones(tmp_path):
    held = cards(a={"x": 2, "y": 2, "z": 2}, b={"y": 2, "w": 2}, c={"x": 2, "y": 2, "z": 2, "w": 2})
    text, domain = draft(held, [["a", "b"], ["c"]], "d.json")
    (tmp_path / "d.json").write_text('{"x": 2}')
    (tmp_path / "plan.toml").write_text(text)
    assert ReleasePlan.load(tmp_path / "plan.toml").left_out == {"a": ("y",)}
    assert set(domain.names) == {"w", "x", "y", "z"}


def test_a_draft_has_the_rules_of_all_parties_once():
    ruled = {"attributes": {"a": 2, "b": 2}, "rules": [{"impossible": {"a": [0], "b": [1]}}]}
    _, domain = draft(cards(north=ruled, south=ruled), [["north"], ["south"]], "d.json")
    assert domain == Domain.from_json(ruled)


def test_refuses_leaves_out_for_a_party_outside_the_slice(tmp_path):
    with pytest.raises(DataError, match="expected leaves_out to name parties"):
        loaded(tmp_path, f"{RELEASE}rho = 1\n{SLICE}leaves_out = {{ c = ['x'] }}\n")


def test_omitted_keys_of_a_plan_have_the_stated_defaults(tmp_path):
    plan = loaded(tmp_path, RELEASE + "rho = 1\n" + SLICE)
    assert (plan.spec.protocol, plan.spec.adjacency, plan.mechanism, plan.workload) == (
        "masked",
        Adjacency.ZERO_OUT,
        "mosaic",
        "2way",
    )
    assert plan.settings == {}
    assert (plan.spec.collusions, plan.spec.rows, plan.retry_policy) == (None, None, RetryPolicy())
    assert plan.spec.rows_per_person == 1


def test_the_rows_of_a_person_that_a_plan_covers_come_into_the_terms(tmp_path):
    plan = loaded(tmp_path, RELEASE + "rho = 1\nrows_per_person = 2\n" + SLICE)
    assert order_of(plan).spec.rows_per_person == 2


def test_a_plan_may_cover_people_with_all_rows_also_over_aligned_rows(tmp_path):
    every = RELEASE + 'rho = 1\nrows_per_person = "all"\n'
    for sections in (SLICE, "[alignment]\n" + SLICE):
        plan = loaded(tmp_path, every + sections)
        assert order_of(plan).proposal("r").spec.rows_per_person == ALL_ROWS
    with pytest.raises(DataError, match='population: expected "everywhere" for people with all rows'):
        loaded(tmp_path, every + '[alignment]\npopulation = "anywhere"\n' + SLICE)


def test_settings_of_the_mechanism_are_text_as_on_the_command_line(tmp_path):
    keys = 'mechanism = "privbayes"\nsettings = { group = 6, consistency = true }\n'
    plan = loaded(tmp_path, f"{RELEASE}rho = 1\n{keys}{SLICE}")
    assert plan.settings == {"group": "6", "consistency": "true"}


def test_settings_of_the_command_line_take_the_place_of_those_in_the_plan(tmp_path):
    keys = 'mechanism = "mst"\nsettings = { one_way = 0.2, max_model_mb = 9 }\n'
    plan = loaded(tmp_path, f"{RELEASE}rho = 1\n{keys}{SLICE}").with_settings({"one_way": "0.4"})
    assert plan.settings == {"one_way": "0.4", "max_model_mb": "9"}
    assert order_of(plan).mechanism == MST(one_way=0.4, max_model_mb=9)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"one_wya": "0.4"}, r"one_wya.*did you mean 'one_way'"),
        ({"one_way": "1.5"}, "one_way: expected a number above 0 and below 1, got '1.5'"),
        ({"one_way": "0.95"}, r"one_way \+ scores < 1"),
    ],
)
def test_refuses_settings_of_the_command_line_that_the_mechanism_does_not_have(tmp_path, given, reason):
    plan = loaded(tmp_path, f'{RELEASE}rho = 1\nmechanism = "mst"\n{SLICE}')
    with pytest.raises(DataError, match=reason):
        plan.with_settings(given)


def test_refuses_settings_that_leave_no_budget_when_the_plan_is_read(tmp_path):
    keys = 'mechanism = "mst"\nsettings = { one_way = 0.95 }\n'
    with pytest.raises(DataError, match=r"one_way \+ scores < 1"):
        loaded(tmp_path, f"{RELEASE}rho = 1\n{keys}{SLICE}")


def test_a_workload_file_is_relative_to_the_plan(tmp_path):
    plan = loaded(tmp_path, RELEASE + 'rho = 1\nworkload = "w.json"\n' + SLICE)
    assert plan.workload == str(tmp_path / "w.json")


def test_a_target_takes_the_place_of_a_workload(tmp_path):
    plan = loaded(tmp_path, RELEASE + 'rho = 1\ntarget = "y"\n' + SLICE)
    assert (plan.target, plan.workload) == ("y", None)
    assert order_of(plan).workload == Workload.for_target(plan.domain, "y")


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ('target = "z"', "expected target to name an attribute of the domain, got 'z'"),
        ('target = "y"\nworkload = "2way"', "expected target or workload, .* got both; remove one"),
    ],
)
def test_refuses_a_target_that_does_not_exist_or_stands_beside_a_workload(tmp_path, keys, reason):
    with pytest.raises(DataError, match=reason):
        loaded(tmp_path, f"{RELEASE}rho = 1\n{keys}\n{SLICE}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[release]\n" + SLICE, "either domain in .release."),
        (SLICE, r"\[release\]: expected a table"),
        (RELEASE, r"\[slice\]: expected a list"),
        (RELEASE + "rho = 1\n[other]\n" + SLICE, r"\[other\]: unknown key; it has about"),
        (RELEASE + 'protocol = "theorem"\n' + SLICE, "'theorem'"),
        (RELEASE + 'protocol = "indicator-mle"\n' + SLICE, "'indicator-mle'"),
        (RELEASE + 'rho = 1\nprotocol = "trusted"\n' + SLICE, "one party"),
        (RELEASE + 'rho = 1\nprotocol = "indicator"\ncollusions = 1\n' + SLICE, "collusions"),
        (RELEASE + "check = true\n" + SLICE, "expected one-hot, got true"),
        (RELEASE + "epsilom = 1\n" + SLICE, r"epsilom in .*did you mean 'epsilon'"),
        (
            RELEASE + "settings = { tme_limit = 1 }\n" + SLICE,
            "did you mean 'time_limit'",
        ),
        (RELEASE + "settings = { time_limit = -1 }\n" + SLICE, "expected none or a number above 0"),
        (RELEASE + "rows = 0\n" + SLICE, "rows .*of at least 1 and at most 1e.09, got 0"),
        (RELEASE + "sigma = 0\n" + SLICE, r"sigma in \[release\]: unknown key; it has domain"),
        (RELEASE + 'epsilon = "1"\n' + SLICE, "a number above 0, got a text"),
        (RELEASE + "rows = true\n" + SLICE, "got true"),
        (
            RELEASE + "rows_per_person = 0\n" + SLICE,
            "rows_per_person .*of at least 1 and at most 1e.09 or all, got 0",
        ),
        (RELEASE + "rows = 1000000001\n" + SLICE, "rows .*at most 1e.09, got"),
        (
            RELEASE + f"rows_per_person = 1{'0' * 300}\n" + SLICE,
            "rows_per_person .*at most 1e.09 or all, got",
        ),
        (RELEASE + "[network]\ntries = 0\n" + SLICE, "tries .*of at least 1, got 0"),
        (RELEASE + "[[slice]]\n", r"parties in \[slice\] 1: expected a list of names"),
        (RELEASE + "[[slice]]\nparties = []\n", "that is not empty, got an empty one"),
        (RELEASE + "rho = 1\n" + SLICE + SLICE, "no party twice"),
        ("slice = [3]\n[release]\ndomain = 'd'\n", r"\[slice\] 1: expected a table"),
        ("[release\n", "not TOML"),
    ],
)
def test_refuses_an_invalid_plan(tmp_path, text, reason):
    with pytest.raises(DataError, match=reason):
        loaded(tmp_path, text)


def test_refuses_a_plan_without_a_budget(tmp_path):
    with pytest.raises(BudgetError, match="either epsilon"):
        loaded(tmp_path, RELEASE + SLICE)


def test_refuses_a_missing_plan_file(tmp_path):
    with pytest.raises(DataError, match="cannot read the plan"):
        ReleasePlan.load(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("keys", "dealers", "enrolled"),
    [
        ("", ("curator",), ()),
        ('dealers = ["d"]', ("d",), ("d",)),
        ('dealers = ["curator", "d", "e"]', ("curator", "d", "e"), ("d", "e")),
    ],
)
def test_a_plan_names_its_dealers_and_by_default_the_curator(tmp_path, keys, dealers, enrolled):
    plan = loaded(tmp_path, f"{RELEASE}{keys}\nrho = 1\n{SLICE}")
    assert (plan.dealers, plan.other_dealers) == (dealers, enrolled)
    assert plan.participants == ("a", "b", *enrolled)


@pytest.mark.parametrize(
    ("keys", "refusal"),
    [
        ("dealers = []", "a list of names that is not empty"),
        ("dealers = [1]", "dealers 1 in .*expected a text, got 1"),
        ('dealers = ["d", "e"]', "expected one dealer, or 3 or more"),
        ('dealers = ["d", "d", "e"]', "with different names"),
        ('dealers = ["a"]', "slice 1: expected 1 dealers that are no party of it"),
        ('dealers = ["a", "d", "e"]', "slice 1: expected 3 dealers that are no party of it"),
        ('dealers = ["d"]\nprotocol = "indicator"', "'indicator' has no dealers; remove the key"),
    ],
)
def test_refuses_dealers_that_cannot_deal(tmp_path, keys, refusal):
    with pytest.raises(DataError, match=refusal):
        loaded(tmp_path, f"{RELEASE}{keys}\nrho = 1\n{SLICE}")


@pytest.mark.parametrize(
    ("count", "named"), [(0, ("curator",)), (1, ("d-0",)), (2, ("d-0",)), (3, ("d-0", "d-1", "d-2"))]
)
def test_a_draft_names_enrolled_dealers_and_never_two(tmp_path, count, named):
    dealers = [Card.issue(DEALER, f"d-{n}", Identity.generate(), GRID[0].certificate) for n in range(count)]
    text, _ = draft([*GRID, *dealers], None, "d.json")
    assert loaded(tmp_path, text).dealers == named
    assert "may_deal" not in text


def test_a_draft_offers_parties_as_dealers_if_every_slice_has_three_of_other_slices(tmp_path):
    held = {f"{s}_{name}": {attribute: 2} for s in "nsw" for name, attribute in (("a", "x"), ("b", "y"))}
    text, _ = draft(cards(**held), None, "d.json")
    (offer,) = [line for line in text.splitlines() if "may_deal" in line]
    plan = loaded(tmp_path, text.replace(offer, offer[2:]).replace('dealers = ["curator"]', "# "))
    assert plan.dealers == ("n-a", "s-a", "w-a", "n-b", "s-b")
    assert plan.other_dealers == ()


REASON = '[about]\npurpose = "waiting times"\ncontact = "data-office@example.org"\nuntil = 2030-12-31\n'


def test_a_plan_states_why_and_who_answers_and_until_when(tmp_path):
    plan = loaded(tmp_path, REASON + RELEASE + "rho = 1\n" + SLICE)
    assert plan.spec.about == About("waiting times", "data-office@example.org", until="2030-12-31")
    assert order_of(plan).spec == plan.spec
    quoted = loaded(tmp_path, REASON.replace("2030-12-31", '"2030-12-31"') + RELEASE + "rho = 1\n" + SLICE)
    assert quoted.spec.about == plan.spec.about
    assert loaded(tmp_path, RELEASE + "rho = 1\n" + SLICE).spec.about == About()


@pytest.mark.parametrize("until", ['"tomorrow"', "2030-12-31T10:00:00", '"2030-02-30"', "7"])
def test_a_last_day_is_a_day(tmp_path, until):
    with pytest.raises(DataError, match="about"):
        loaded(tmp_path, f"[about]\nuntil = {until}\n" + RELEASE + "rho = 1\n" + SLICE)
