"""The largest messages that a pinned curator can send to a party: time of a processor and memory of each.

Run by hand, for about a minute: `python tests/soak/worst_messages.py`.

Every message is as long as it may be and built to cost as much as it can. The time is that of the thread; the
memory is the peak in a second run.
"""

import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

from dpmosaic.common.canonical.terms import encode_terms
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import MosaicError
from dpmosaic.common.frames import FRAME_BYTES
from dpmosaic.common.history import START, Mark
from dpmosaic.common.messages import Acceptance, Introduction, SignedTerms
from dpmosaic.common.protocols.masked.columns import columns_of
from dpmosaic.common.protocols.partition import Partition, RosterEntry
from dpmosaic.common.queries import ScoreQuery
from dpmosaic.common.wire import codec
from dpmosaic.common.wire import party_pb2 as pb
from dpmosaic.party.serving.servicer import PartyServicer

sys.path.insert(0, str(Path(__file__).parent.parent))

from dpmosaic.common.data.view import View
from support.masked import POLICY, Release, plan_of, terms_of
from support.terms import RELEASE_ID, terms_with

MB = 1 << 20


def terms(slices, attributes):
    """Signed terms of slices that one party holds each."""
    names = tuple(map(str, range(attributes)))
    roster = tuple(RosterEntry(str(i), i, names, 1, i.to_bytes(32, "big")) for i in range(slices))
    plan = Partition(Domain.coded(dict.fromkeys(names, 2)), roster)
    encoded = encode_terms(terms_with(terms_of(), plan=plan, protocol="indicator", release_id="f" * 32))
    assert len(encoded) <= FRAME_BYTES
    return codec.encode(SignedTerms(encoded, bytes(64), START))


def marginal(query_id="q", **changes):
    """A query whose view has these fields."""
    query = pb.MarginalQuery(
        release_id=RELEASE_ID,
        query_id=query_id,
        form=pb.AnswerForm.Name(3),
        view=pb.View(**{"clique": ["a"]} | changes),
        sigma=3.0,
    )
    return pb.AnswerRequest(query=query).SerializeToString()


def multiplied(*chains):
    return pb.MultiplyRequest(release_id=RELEASE_ID, chains=chains).SerializeToString()


def scored(name, clique, times):
    query = ScoreQuery(RELEASE_ID, name, (View((clique,)),) * times, 1e9, bytes(32), 0, 0)
    return codec.encode(query)


def opened(**changes):
    return pb.OpeningRequest(release_id=RELEASE_ID, recipient=1, **changes).SerializeToString()


ACCEPTANCE = Acceptance(b"", b"", Mark(1, bytes(32)))
PAIR = pb.Chain(parts=[pb.Part(attributes=["b"]), pb.Part(attributes=["c"])])
BOX = pb.Box(ranges=[pb.Range(start=0, stop=1)])
REPEATED = ["a"] * 330_000
(COLUMN,) = columns_of(View(("a",), ((0, 1) * 250_000,)))
MESSAGES = {
    "Describe": (),
    "Accept, 11,000 slices": (terms(11_000, 1),),
    "Accept, 30,000 attributes": (terms(1, 30_000),),
    "Accept, 150 slices of 600 attributes": (terms(150, 600),),
    "Introduce, 25,000 acceptances": (codec.encode(Introduction(RELEASE_ID, (ACCEPTANCE,) * 25_000)),),
    "Answer, an attribute 330,000 times": (marginal(clique=REPEATED),),
    "Answer, a box 130,000 times": (marginal(boxes=[BOX] * 130_000),),
    "Answer, 500,000 empty boxes": (marginal(boxes=[pb.Box()] * 500_000),),
    "Answer, 500,000 empty ranges": (marginal(boxes=[pb.Box(ranges=[pb.Range()] * 500_000)]),),
    "Answer, groups of 1,000,000 codes": (marginal(groups=[pb.Grouping(labels=[0, 1] * 500_000)]),),
    "Answer, 500,000 empty groupings": (marginal(groups=[pb.Grouping()] * 500_000),),
    "Answer, an id of 1 MiB": (marginal("q" * MB),),
    "Multiply, a chain 65,000 times": (multiplied(*[PAIR] * 65_000),),
    "Multiply, 500,000 empty chains": (multiplied(*[pb.Chain()] * 500_000),),
    "Multiply, 500,000 empty parts": (multiplied(pb.Chain(parts=[pb.Part()] * 500_000)),),
    "Open, an attribute 330,000 times": (opened(chain=[pb.Part(attributes=REPEATED)]),),
    "Open, a column of 500,000 groups": (opened(chain=[pb.Part(attributes=[COLUMN])]),),
    "PrepareScores, 65,536 cells 2,000 times": (scored("s", "a", 2_000),),
    "PrepareScores, 2 cells 170,000 times": (scored("t", "b", 170_000),),
}


def party():
    """A party with an attribute of 65,536 codes, in a running release."""
    grid = {"north": (0, ("a", "b")), "east": (0, ("c",)), "south": (1, ("a", "b", "c"))}
    plan = plan_of(grid, domain=Domain.coded({"a": 65_536, "b": 2, "c": 2}), records=(500, 500), bits=64)
    terms = terms_of(replace(plan, evaluators=(1, 0, 2)))
    return Release(terms, policy=replace(POLICY, max_cells=65_536)).accept().introduce().parties["north"]


def outcome(method, messages):
    """What a fresh party replies."""
    servicer = PartyServicer(party())

    def called():
        try:
            return f"{sum(1 for _ in servicer.serve(method, iter(messages), b''))} replies"
        except MosaicError as error:
            return type(error).__name__

    return called


def main():
    print(f"{'message':42} {'KiB':>6} {'s':>6} {'MiB':>6}  reply")
    for name, messages in MESSAGES.items():
        method = name.partition(",")[0]
        called = outcome(method, messages)
        began = time.thread_time()
        reply = called()
        seconds = time.thread_time() - began
        called = outcome(method, messages)
        tracemalloc.start()
        called()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = sum(map(len, messages)) >> 10
        print(f"{name:42} {size:6} {seconds:6.2f} {peak / MB:6.1f}  {reply}", flush=True)


if __name__ == "__main__":
    main()
