"""JSON schemas accept and refuse what the readers of plans, policies and domain files do."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.tables import check_file
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, parameters
from dpmosaic.curator.releasing.planning.drafting import Wishes, draft
from dpmosaic.curator.releasing.planning.form import plan_form
from dpmosaic.party.dealing import policy as dealer_policy
from dpmosaic.party.policies import form as policy_form
from dpmosaic.party.policies import template as policy_template
from dpmosaic.simulations.schema_command import WrittenFile, schema_of
from support.cards import cards
from support.kinds import domains
from support.schemas import Draft202012Validator

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
PLAN = {"release": {"domain": "d.json", "epsilon": 1.0, "delta": 1e-9}, "slice": [{"parties": ["a", "b"]}]}
POLICY = {"source": {"domain": "d.json", "file": "rows.csv"}}
FORMS = {
    WrittenFile.PLAN: plan_form(),
    WrittenFile.POLICY: policy_form.FORM,
    WrittenFile.DEALER: dealer_policy.FORM,
}
DOMAIN = Draft202012Validator(schema_of(WrittenFile.DOMAIN))


@pytest.fixture(scope="module")
def judges():
    """For each kind of file, an independent validator of its schema."""
    schemas = {of: schema_of(of) for of in WrittenFile}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    return {of: Draft202012Validator(schema) for of, schema in schemas.items()}


def read(of, content):
    """Whether our reader takes a file's content."""
    try:
        if of is WrittenFile.DOMAIN:
            Domain.from_json(content)
        else:
            check_file("file", FORMS[of], content)
    except DataError:
        return False
    return True


def as_json(content):
    """What an editor's validator sees: TOML's days are texts."""
    return json.loads(json.dumps(content, default=str))


def with_comments(text):
    """A template with every key in it that is commented out, one at a time, and what the key is."""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        found = re.match(r"# (([a-z_]+) = [^#]+)", line)
        if not found:
            continue
        uncommented, key = found.groups()
        (header,) = [at for at in range(place) if re.match(r"(# )?\[", lines[at])][-1:]
        opened = [*lines[:header], lines[header].removeprefix("# "), *lines[header + 1 :]]
        # Alternatives to a key that stands in the template take its place.
        kept = [other for other in opened if not other.startswith(f"{key} =")]
        at = kept.index(line)
        yield uncommented, "\n".join([*kept[:at], uncommented, *kept[at + 1 :]])


def examples():
    """Every example of the documentation and every line of the templates, by what it is."""
    drafted, _ = draft(cards(a={"x": 2}, b={"y": 3}), None, "d.json")
    asked, _ = draft(
        cards(a={"x": 2}), None, "d.json", Wishes("a", "b", 2, "2030-12-31", "x", "0.0.0.0:7444")
    )
    for of, text in (
        (WrittenFile.PLAN, drafted),
        (WrittenFile.PLAN, asked),
        (WrittenFile.POLICY, policy_template.TEMPLATE),
        (WrittenFile.DEALER, dealer_policy.TEMPLATE),
    ):
        yield of, "template", tomllib.loads(text)
        for line, whole in with_comments(text):
            yield of, line, tomllib.loads(whole)
    for name in ("alignment.md", "operators-guide.md"):
        page = (DOCS / name).read_text(encoding="utf-8")
        for kind, block in re.findall(r"```toml\n# (plan|policy)\.toml.*?\n(.*?)```", page, re.DOTALL):
            of = WrittenFile(kind)
            yield of, name, (PLAN if of is WrittenFile.PLAN else POLICY) | tomllib.loads(block)
    page = (DOCS / "describe-your-table.md").read_text(encoding="utf-8")
    for number, example in enumerate(re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL), start=1):
        yield WrittenFile.DOMAIN, f"describe-your-table.md {number}", json.loads(example)
    for name in CATALOGUE:
        given = {p.name: "none" if p.default is None else p.default for p in parameters(name)}
        release = PLAN["release"] | {"mechanism": name, "settings": given}
        yield WrittenFile.PLAN, f"parameters of {name}", PLAN | {"release": release}


@pytest.mark.parametrize(
    ("of", "what", "content"), [pytest.param(*e, id=f"{e[0]}: {e[1]}") for e in examples()]
)
def test_every_documented_example_passes_the_reader_and_the_schema(judges, of, what, content):
    assert read(of, content)
    assert list(judges[of].iter_errors(as_json(content))) == []


def changed(form, *path_and_value):
    """A deep copy with one value replaced."""
    *path, last, value = path_and_value
    copy = json.loads(json.dumps(form))
    inner = copy
    for key in path:
        inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner[key]
    inner[last] = value
    return copy


WRONG = [
    *(
        (WrittenFile.PLAN, changed(PLAN, *change))
        for change in (
            ("release", "epsilom", 1),
            ("release", "epsilon", "1"),
            ("release", "epsilon", 0),
            ("release", "delta", 1),
            ("release", "rows", 0),
            ("release", "rows", 1.5),
            ("release", "mechanism", "mosiac"),
            ("release", "protocol", "theorem"),
            ("release", "check", "two-hot"),
            ("release", "variant", "papers"),
            ("release", "settings", {"time_limit": 0}),
            ("release", "settings", {"timelimit": 1}),
            ("release", "settings", {"time_limit": "soon"}),
            ("release", "settings", {"alpha": 0.5}),
            ("network", "tries", 0),
            ("network", "call_seconds", -1),
            ("about", "until", "soon"),
            ("alignment", "rho", 0),
            ("alignment", "match", [["a"], "b"]),
            ("alignment", "keying", "md5"),
            ("bins", "share", 1),
            ("bins", "shares", 0.1),
            ("slice", []),
            ("slice", 0, "parties", []),
            ("slice", 0, "leaves_out", {"a": "x"}),
            ("other", {}),
            ("release", 3),
        )
    ),
    (WrittenFile.PLAN, {"release": PLAN["release"]}),
    (WrittenFile.PLAN, {"slice": PLAN["slice"]}),
    (
        WrittenFile.PLAN,
        changed(changed(PLAN, "release", "mechanism", "aim"), "release", "settings", {"alpha": 1}),
    ),
    *(
        (WrittenFile.POLICY, changed(POLICY, *change))
        for change in (
            ("policy", "max_cells", 1.5),
            ("policy", "max_cells", -1),
            ("policy", "approval", 0),
            ("policy", "protocols", "masked"),
            ("policy", "max_rho", 1),
            ("policy", "lifetime_rho", -1),
            ("serve", "proxy", "https://proxy:1"),
            ("records", "order", "sorted"),
            ("source", "timeout_s", 0),
            ("source", "identifiers", {"a": 1}),
            ("workers", "threads", 0),
            ("sources", {}),
        )
    ),
    (WrittenFile.POLICY, {"source": {"file": "rows.csv"}}),
    *(
        (WrittenFile.DEALER, {"policy": policy})
        for policy in (
            {"max_records": -1},
            {"max_records": 1.5},
            {"max_record": 1},
            {"max_memory_mb": 0},
        )
    ),
    *(
        (WrittenFile.DOMAIN, domain)
        for domain in (
            {},
            [],
            {"a": 0},
            {"a": []},
            {"a": "text"},
            {"a": {"type": "prose"}},
            {"a": {"bins": 2}},
            {"a": {"type": "numeric", "min": 0}},
            {"a": {"type": "numeric", "min": "0", "max": 1, "bins": 2}},
            {"a": {"type": "numeric", "min": 0, "max": 1, "bins": "automatic"}},
            {"a": {"type": "numeric", "min": 0, "max": 1, "bins": 2, "scale": "cubic"}},
            {"a": {"type": "numeric", "min": 0, "max": 1, "bins": 2, "steps": 3}},
            {"a": {"type": "date", "min": 2020, "max": "2021-01-01"}},
            {"a": {"type": "codes", "n": 0}},
            {"a": {"type": "date", "min": "2020-01-01", "max": "2021-01-01", "parts": ["decade"]}},
            {"a": {"type": "categorical", "categories": "ab"}},
            {"a": {"type": "boolean", "nullable": 1}},
            {"attributes": {"a": 2}, "rules": [{"implausible": {"a": [0]}}]},
            {"attributes": {"a": 2}, "rules": [{"impossible": {"a": []}}]},
            {"attributes": {"a": 2}, "rules": {}},
        )
    ),
]


@pytest.mark.parametrize(("of", "content"), WRONG)
def test_what_is_wrong_fails_the_reader_and_the_schema(judges, of, content):
    assert not read(of, content)
    assert not judges[of].is_valid(content)


@given(domains())
@settings(max_examples=60, deadline=None)
def test_every_domain_as_it_is_written_passes_the_schema(domain):
    assert list(DOMAIN.iter_errors(json.loads(json.dumps(domain.to_json())))) == []
