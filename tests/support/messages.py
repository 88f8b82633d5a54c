"""Messages between a curator and a party for tests: one example of each kind, and strategies for any."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

from hypothesis import strategies as st

from dpmosaic.common.about import About
from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.coding import Coding
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.values import compose, text_of
from dpmosaic.common.data.view import View
from dpmosaic.common.history import START, Mark
from dpmosaic.common.labels import LabelSearch
from dpmosaic.common.messages import (
    Acceptance,
    DealRequest,
    Delivery,
    DeliveryKind,
    Introduction,
    MultiplyRequest,
    OpeningRequest,
    PartyDescription,
)
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.protocols.aligned import Alignment, Population
from dpmosaic.common.protocols.alignment.plan import DDH, HMAC, AlignmentPlan
from dpmosaic.common.protocols.arithmetic.ring import Ring
from dpmosaic.common.protocols.chosen import Chosen
from dpmosaic.common.protocols.masked.dealers import DealerEntry
from dpmosaic.common.protocols.masked.plan import MaskedPlan
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.queries import AnswerForm, MarginalQuery, ScoreQuery
from dpmosaic.common.release_spec import ReleaseSpec
from dpmosaic.common.terms import Purpose, ReleaseTerms
from support.changed import changed
from support.terms import RELEASE_ID, terms_of, terms_with

RELEASE_IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
TEXTS = st.text(max_size=6)
# As tables are read, in normal form C.
NAMES = st.text(min_size=1, max_size=6).map(compose)
WORDS = st.integers(0, 2**32 - 1)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
CATEGORIES = st.lists(
    st.one_of(TEXTS, st.integers(-99, 99), st.floats(-9, 9), st.booleans()),
    min_size=1,
    max_size=5,
    unique_by=text_of,
)


RUNS = st.lists(WORDS, max_size=3).map(tuple)
DELTAS = st.floats(0, 0.1, exclude_min=True)
LABELS = st.dictionaries(NAMES, st.lists(TEXTS, max_size=2).map(tuple), max_size=2)
CHOICES = st.builds(
    lambda labels, delta, *stated, runs: Chosen(*stated, Coding(runs, labels), delta if labels else 0.0),
    LABELS,
    DELTAS,
    RELEASE_IDS,
    st.text("0123456789abcdef", min_size=64, max_size=64),
    POSITIVE,
    runs=st.dictionaries(NAMES, RUNS, max_size=2),
)
SEARCHES = st.builds(LabelSearch, st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple), DELTAS)


def numeric(name, minimum, width, bins, nullable, integer):
    maximum = minimum + width
    return NumericAttribute(name, minimum, maximum, min(bins, width) if integer else bins, nullable, integer)


@st.composite
def domains(draw):
    kinds = [
        lambda name: st.builds(CodedAttribute, st.just(name), st.integers(1, 2**24)),
        lambda name: st.builds(CategoricalAttribute, st.just(name), CATEGORIES.map(tuple)),
        lambda name: st.builds(
            numeric,
            st.just(name),
            st.integers(-999, 999) | st.floats(-999, 999),
            st.integers(1, 99),
            st.integers(1, 99),
            st.booleans(),
            st.just(False),
        ),
        lambda name: st.builds(
            numeric,
            st.just(name),
            st.integers(-999, 999),
            st.integers(1, 99),
            st.integers(1, 99),
            st.booleans(),
            st.just(True),
        ),
    ]
    names = draw(st.lists(NAMES, min_size=4, max_size=6, unique=True))
    return Domain(tuple(draw(kinds[place % 4](name)) for place, name in enumerate(names)))


def identities(name):
    """Identities that no participant with another name has."""
    return st.binary(max_size=33).map(lambda key: key + name.encode())


@st.composite
def plans(draw):
    """Plans of one to three slices, each partitioned across its own number of parties."""
    sizes = draw(st.dictionaries(NAMES, st.integers(1, 2**24), min_size=1, max_size=4))
    domain = Domain.coded(sizes)
    roster = []
    for number in range(draw(st.integers(1, 3))):
        parties = draw(st.integers(1, len(sizes)))
        holder = {name: draw(st.integers(0, parties - 1)) for name in domain}
        records = draw(st.integers(0, 2**64 - 1))
        for place in range(parties):
            held = tuple(name for name in domain if holder[name] == place)
            name = f"{len(roster)} {draw(TEXTS)}"
            roster.append(RosterEntry(name, number, held, records, draw(identities(name))))
    tolerated, bits = draw(st.integers(0, len(roster) - 1)), draw(st.sampled_from([32, 64]))
    dealers = draw(dealers_of(roster))
    places = draw(st.permutations(range(len(roster))))
    evaluators = tuple(places[:3]) if len(roster) > 2 and tolerated <= 1 and draw(st.booleans()) else ()
    alignment = draw(st.none() | alignments([entry.slice for entry in roster]))
    checked = bits == 32 and alignment is None and len(dealers) < 3
    check = draw(st.sampled_from(["", "one-hot"])) if checked else ""
    return MaskedPlan(
        domain,
        tuple(roster),
        tolerated,
        Ring(bits),
        evaluators,
        dealers,
        check=check,
        alignment=alignment,
        chosen=draw(st.none() | CHOICES),
    )


@st.composite
def dealers_of(draw, roster):
    """Enough dealers of these parties; with three that are no party, also a party."""
    count = draw(st.sampled_from([1, 3]))
    entries = [
        DealerEntry(f"dealer {i} {draw(TEXTS)}", draw(identities(f"dealer {i}"))) for i in range(count)
    ]
    if count > 1 and draw(st.booleans()):
        party = draw(st.sampled_from(roster))
        entries.insert(draw(st.integers(0, count)), DealerEntry(party.name, party.identity))
    return tuple(entries)


def alignments(slices):
    """Alignments of a roster of which these are the numbers of slices."""
    counts = st.integers(-(2**62), 2**62)
    parties = [slices.count(number) for number in sorted(set(slices))]
    people = st.tuples(*(st.tuples(*[counts] * (2**number - 1)) for number in parties))
    rho = st.fractions(min_value=Fraction(1, 2**64), max_value=9, max_denominator=2**64)
    return st.builds(Alignment, RELEASE_IDS, st.sampled_from(Population), people, rho)


DESCRIPTIONS = st.builds(
    PartyDescription,
    name=TEXTS,
    protocol_version=WORDS,
    software_version=TEXTS,
    domain=st.none() | domains(),
    record_count=st.none() | st.integers(0, 2**64 - 1),
    protocols=st.lists(TEXTS, max_size=3).map(tuple),
    identity=st.binary(max_size=33),
    alignments=st.lists(TEXTS, max_size=3).map(tuple),
    identifiers=st.lists(TEXTS, max_size=3).map(tuple),
    max_cells=st.none() | st.integers(0, 2**64 - 1),
)
BUDGETS = st.builds(Budget, zcdp_rho=POSITIVE, delta=st.none() | st.floats(1e-18, 0.99)) | st.builds(
    Budget, epsilon=POSITIVE, delta=st.floats(1e-18, 0.99)
)
DAYS = st.just("") | st.dates().map(date.isoformat)
PURPOSES = st.builds(
    Purpose,
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    labels=st.none() | SEARCHES,
    max_cells=st.none() | st.integers(0, 2**64 - 1),
    max_attributes=st.none() | st.integers(1, 2**64 - 1),
)


def specs(protocol):
    """Descriptions of releases by a protocol."""
    return st.builds(
        ReleaseSpec,
        BUDGETS,
        st.sampled_from(Adjacency),
        protocol,
        st.none() | st.integers(0, 9),
        check=st.just(""),
        sample=st.none() | st.integers(1, 2**64 - 1),
        rows=st.none() | st.integers(1, 2**64 - 1),
        rows_per_person=st.integers(1, 2**64 - 1),
        about=st.just(About()) | st.builds(About, TEXTS, TEXTS, DAYS, DAYS),
    )


def agreed(release_id, version, spec, **fields):
    """Terms whose description says what their plan says."""
    return ReleaseTerms(release_id, version, spec.over(fields["plan"]), **fields)


def reviewed_or_not(terms):
    """Terms that say of their first attribute that nobody has reviewed it, or of none."""
    purpose = replace(terms.purpose, unreviewed=terms.plan.domain.names[:1])
    return st.sampled_from([terms, replace(terms, purpose=purpose)])


UNMASKED_TERMS = st.builds(
    agreed,
    RELEASE_IDS,
    WORDS,
    specs(NAMES.filter(lambda name: name not in ("masked", "alignment"))),
    granted_rho=POSITIVE,
    plan=plans().map(lambda plan: Partition(plan.domain, plan.roster, chosen=plan.chosen)),
    purpose=PURPOSES,
)
MASKED_TERMS = st.builds(
    agreed,
    RELEASE_IDS,
    WORDS,
    specs(st.just("masked")),
    granted_rho=POSITIVE,
    plan=plans(),
    purpose=PURPOSES,
)
FIELDS = st.sampled_from(["id:exact", "name:text", "born:date", "born:year"])
MATCH_KEYS = st.lists(FIELDS, min_size=1, max_size=2, unique=True).map(tuple)
MATCHING_TERMS = st.builds(
    agreed,
    RELEASE_IDS,
    WORDS,
    specs(st.just("alignment")),
    granted_rho=POSITIVE,
    plan=st.builds(
        lambda plan, **matching: AlignmentPlan(
            plan.domain, tuple(replace(entry, record_count=0) for entry in plan.roster), **matching
        ),
        plans(),
        match=st.lists(MATCH_KEYS, min_size=1, max_size=2, unique_by=frozenset).map(tuple),
        keying=st.sampled_from([HMAC, DDH]),
        duplicates=st.sampled_from(["first", "refuse"]),
    ),
    purpose=PURPOSES.map(lambda purpose: replace(purpose, labels=None)),
)
TERMS = (UNMASKED_TERMS | MASKED_TERMS | MATCHING_TERMS).flatmap(reviewed_or_not)
BOXES = st.lists(st.lists(st.tuples(WORDS, WORDS), max_size=3).map(tuple), max_size=3).map(tuple)
COUNTED = [AnswerForm.HISTOGRAM, AnswerForm.RECORD_WISE, AnswerForm.SHARE]
GROUPS = st.lists(st.lists(WORDS, max_size=3).map(tuple), max_size=3).map(tuple)
CLIQUES = st.lists(TEXTS, min_size=1, max_size=3).map(tuple)
VIEWS = st.builds(View, CLIQUES, boxes=BOXES) | st.builds(View, CLIQUES, GROUPS, interaction=st.booleans())
QUERIES = (
    st.builds(
        MarginalQuery,
        NAMES,
        NAMES,
        st.just(AnswerForm.LABELS),
        TEXTS.map(lambda name: View((name,))),
        POSITIVE,
    )
    | st.builds(MarginalQuery, NAMES, NAMES, st.sampled_from(COUNTED), VIEWS, POSITIVE)
    | st.builds(
        MarginalQuery,
        NAMES,
        NAMES,
        st.just(AnswerForm.RECORD_WISE),
        CLIQUES.map(View),
        POSITIVE,
        st.lists(POSITIVE, max_size=3).map(tuple),
    )
)
CHAINS = st.lists(st.lists(TEXTS, max_size=3).map(tuple), max_size=3).map(tuple)
MARKS = st.builds(Mark, st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32))
ACCEPTANCES = st.builds(Acceptance, st.binary(max_size=40), st.binary(max_size=70), MARKS)
INTRODUCTIONS = st.builds(
    Introduction,
    TEXTS,
    st.lists(ACCEPTANCES, max_size=3).map(tuple),
)
KINDS = st.sampled_from(DeliveryKind)
SEVERAL_CHAINS = st.lists(CHAINS, max_size=3).map(tuple)
OPENING_REQUESTS = st.builds(OpeningRequest, TEXTS, CHAINS, WORDS, KINDS, TEXTS, WORDS)
DEAL_REQUESTS = st.builds(DealRequest, TEXTS, KINDS, WORDS, SEVERAL_CHAINS, WORDS)
MULTIPLY_REQUESTS = st.builds(MultiplyRequest, TEXTS, SEVERAL_CHAINS)
DELIVERIES = st.builds(Delivery, TEXTS, KINDS, CHAINS, WORDS, TEXTS, WORDS, SEVERAL_CHAINS, WORDS)
BOUNDS = st.tuples(st.integers(0, 2**62 - 1), st.integers(0, 2**62 - 1)).map(sorted)
SCORE_QUERIES = st.builds(
    lambda bounds, *fields: ScoreQuery(*fields, *bounds),
    BOUNDS,
    TEXTS,
    NAMES,
    st.lists(st.builds(View, CLIQUES, GROUPS), min_size=1, max_size=3).map(tuple),
    POSITIVE,
    st.binary(min_size=32, max_size=32),
)

DESCRIPTION = PartyDescription(
    "p", 1, "0.1", Domain.coded({"a": 2, "b": 3}), 7, ("trusted",), b"i" * 32, ("r",), ("key",)
)
ROSTER = (
    RosterEntry("p", 0, ("a", "b"), 7, b"i" * 32),
    RosterEntry("q", 1, ("a",), 5, b"j" * 32),
    RosterEntry("s", 1, ("b",), 5, b"k" * 32),
)
DEALERS = (DealerEntry("d", b"d" * 32),)
PLAN = MaskedPlan(Domain.coded({"a": 2, "b": 3}), ROSTER, 1, Ring(32), (1, 2, 0), DEALERS)
RELEASE = terms_of(RELEASE_ID, "trusted", granted=0.5, plan=Partition(PLAN.domain, ROSTER[:1]), version=1)
MASKED = terms_with(RELEASE, protocol="masked", plan=PLAN)
ALIGNED = terms_with(
    MASKED,
    plan=replace(
        PLAN, alignment=Alignment("f" * 32, Population.ANYWHERE, ((6,), (-1, 2, 3)), Fraction(3, 2**9), 2)
    ),
)
CHOSEN = terms_with(
    MASKED,
    plan=replace(PLAN, chosen=Chosen("f" * 32, "c" * 64, 0.25, Coding({"a": (0, 1)}, {"b": ("x",)}), 0.125)),
)
ALIGNING = terms_with(
    RELEASE,
    protocol="alignment",
    plan=AlignmentPlan(
        PLAN.domain,
        tuple(
            RosterEntry(name, number, held, 0, name.encode() * 32)
            for name, number, held in (("p", 0, ("a",)), ("q", 0, ("b",)), ("s", 1, ("a",)), ("t", 1, ("b",)))
        ),
        match=(("id:exact",), ("name:text", "born:date")),
        across_slices="first",
    ),
)
QUERY = MarginalQuery(
    "r", "q", AnswerForm.HISTOGRAM, View(("a", "b"), boxes=(((0, 1), (1, 3)), ((1, 2), (0, 1)))), 2.5
)
MARK = Mark(7, b"h" * 32)
ACCEPTANCE = Acceptance(b"e" * 32, b"s" * 64, MARK)
INTRODUCTION = Introduction("r", (ACCEPTANCE, Acceptance(b"f" * 32, b"t" * 64, START)))
CHAIN = (("a", "b"), ("c",))
OPENING_REQUEST = OpeningRequest("r", CHAIN, 2, DeliveryKind.COINS, "q", 3)
MULTIPLY_REQUEST = MultiplyRequest("r", (CHAIN, (("a",), ("b",))))
DEAL_REQUEST = DealRequest("r", DeliveryKind.ATTESTATION, 2, (CHAIN, (("a",), ("b",))), owner=1)
DELIVERY = Delivery("r", DeliveryKind.OPENING, CHAIN, 2, "q", 3, (CHAIN, (("a",), ("b",))), owner=1)
SCORE_QUERY = ScoreQuery("r", "q", (View(("a", "b")), View(("c",))), 2.5, b"h" * 32, 7, 9)
GROUPED = changed(QUERY, boxes=(), groups=((0, 1, 1), ()))
GROUPED_SCORES = changed(SCORE_QUERY, groups=(((0, 1, 1), ()), ()))
