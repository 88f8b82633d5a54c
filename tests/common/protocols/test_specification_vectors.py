"""The vectors of docs/specification: computed by a second implementation, and by this package.

The second one (`support.specification`) shares no code with the package.
"""

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpmosaic.common.canonical.terms import terms_digest
from dpmosaic.common.crypto.agreement import EphemeralKey
from dpmosaic.common.crypto.digests import keyed_digest
from dpmosaic.common.crypto.identity import Identity
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.dealing.dealing import pad_stream
from dpmosaic.common.dealing.peers import Peers
from dpmosaic.common.errors import ProtocolError
from dpmosaic.common.history import START, Mark
from dpmosaic.common.messages import Acceptance
from dpmosaic.common.privacy.cost import grid_of
from dpmosaic.common.privacy.distributed import DistributedNoise
from dpmosaic.common.privacy.noise import SAMPLER, discrete_gaussian
from dpmosaic.common.promises.acceptance import accept, check_acceptance
from dpmosaic.common.promises.binding import Binding, BindingsInMemory
from dpmosaic.common.protocols.alignment import ddh
from dpmosaic.common.protocols.arithmetic import field
from dpmosaic.common.protocols.arithmetic.ring import WIDE, Ring
from dpmosaic.common.protocols.indicator import multiply, noisy_indicators
from dpmosaic.common.protocols.masked import products, reveal, sacrifice
from dpmosaic.common.protocols.masked.dealers import known_components
from dpmosaic.common.protocols.masked.masks import (
    Masks,
    coins_of,
    point_key,
    proof_stream,
    release_masks,
)
from dpmosaic.common.protocols.masked.one_hot import Challenge, attest, holds, prove
from dpmosaic.common.protocols.masked.one_hot_integers import IntegerChallenge
from dpmosaic.common.protocols.masked.opened_rows import (
    opened_check_mask,
    opened_check_pad,
    opened_weights,
)
from dpmosaic.common.protocols.masked.plan import labels
from dpmosaic.common.protocols.scores.query import (
    known_part,
    pair_stream_of,
    references_digest,
    resharing_seed,
    share_to_send,
)
from support import specification as by_hand
from support.masked import identity, plan_of
from support.masked import terms_of as masked_terms
from support.specification_vectors import FOLDER, MAKERS, written


def vector(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def cases(name):
    return [pytest.param(case, id=str(number)) for number, case in enumerate(vector(name)["cases"])]


def octets(text):
    return bytes.fromhex(text)


def digits(words):
    """Words as the vectors write them."""
    return [[f"{int(word):0{2 * words.itemsize}x}" for word in row] for row in np.atleast_2d(words)]


def chain_of(parts):
    return tuple(map(tuple, parts))


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_the_vectors_are_those_of_the_second_implementation(make):
    assert (FOLDER / f"{make.__name__}.json").read_text(encoding="utf-8") == written(make)


def test_streams_and_keys():
    given = vector("streams")
    key = octets(given["key"])
    assert RandomStream(key).bytes(40).tobytes().hex() == given["bytes"]
    assert RandomStream(key, 37).bytes(16).tobytes().hex() == given["from byte 37"]
    assert [str(word) for word in RandomStream(key).words(3)] == given["words"]
    assert [str(element) for element in field.uniform(RandomStream(key), 3)] == given["elements"]
    assert RandomStream(key).child_key(*given["labels"]).hex() == given["child key"]


def test_an_acceptance_is_the_signature_of_terms_mark_and_ephemeral_key():
    given = vector("streams")
    signer = Identity.from_seed(bytes([2]) * 32)
    mark = Mark(given["mark"]["events"], octets(given["mark"]["head"]))
    accepted = Acceptance(octets(given["ephemeral"]), octets(given["acceptance"]), mark)
    check_acceptance(accepted, signer.public, octets(given["terms"]))
    other = Acceptance(accepted.ephemeral, accepted.signature, Mark(8, mark.head))
    with pytest.raises(ProtocolError, match="does not verify"):
        check_acceptance(other, signer.public, octets(given["terms"]))


def test_a_keyed_digest_is_that_of_its_labels():
    given = vector("streams")
    context = by_hand.envelope(octets(given["terms"]), 0, 2, ["order of records"])
    assert keyed_digest(bytes([3]) * 32, context, bytes([4]) * 32).hex() == given["keyed digest"]


def test_a_sealed_message_opens_with_the_second_implementation():
    terms = masked_terms(plan_of())
    names, digest = [entry.name for entry in terms.plan.participants], terms_digest(terms)
    secrets = [bytes([60 + place]) * 32 for place in range(len(names))]
    accepted = [accept(digest, identity(n), s, START) for n, s in zip(names, secrets, strict=True)]
    sender = Peers(terms, 0, secrets[0], accepted, RandomStream.from_seed(1).key, Binding(BindingsInMemory()))
    what, payload = ["opening", "0", "1", "ä"], bytes(2**20)
    key = by_hand.pair_key(secrets[1], EphemeralKey.from_seed(secrets[0]).public, digest)
    frames = list(sender.seal(1, what, [payload]))
    assert [len(frame) for frame in frames] == [32, 2**20, 32]
    assert by_hand.opened(key, by_hand.envelope(digest, 0, 1, what), frames) == payload


@pytest.mark.parametrize("case", cases("noise"))
def test_noise_is_that_of_its_key(case):
    given = vector("noise")
    shared = DistributedNoise(case["parties"], case["tolerated"])
    assert SAMPLER == given["sampler"]
    assert grid_of(case["sigma"]) == case["grid"]
    assert shared.share_scale(case["sigma"]) == case["scale"]
    drawn = shared.draw(case["sigma"], len(case["draws"]), RandomStream(octets(given["key"])))
    assert drawn.tolist() == case["draws"]


def test_noise_on_whole_numbers_is_that_of_its_key():
    given = vector("noise")
    expected = given["sigma 0.5 on whole numbers"]
    assert discrete_gaussian(0.5, 30, RandomStream(octets(given["key"]))).tolist() == expected


@pytest.mark.parametrize("case", vector("masks")["masks"])
def test_masks_and_openings(case):
    given, ring = vector("masks"), Ring(case["bits"])
    terms = octets(given["terms"])
    sources = [release_masks(octets(seed), terms) for seed in given["seeds"]]
    assert sources[0].child_key() == RandomStream(octets(given["release key"])).child_key()
    masks = Masks(dict(enumerate(sources[: case["components"]])))
    mask = masks.child("mask", *labels(chain_of(given["chain"])))
    assert digits(mask.uniform(ring, 0, 4, 2)) == case["mask"]
    assert digits(mask.uniform(ring, 3, 1, 2)) == case["mask"][3:]
    matrix = products.indicators(ring, np.array(case["codes"]), 2)
    assert digits(products.opening(matrix, mask.uniform(ring, 0, 4, 2))) == case["opening"]


@pytest.mark.parametrize("bits", [32, 64])
def test_masks_of_answers_cancel_in_their_sum(bits):
    given, ring = vector("masks"), Ring(bits)
    keys = {tuple(map(int, pair.split())): octets(key) for pair, key in given["pair keys"].items()}
    masks = []
    for me in range(3):
        streams = {sum(pair) - me: RandomStream(key) for pair, key in keys.items() if me in pair}
        masks.append(reveal.pairwise_mask(ring, me, streams, given["query"], 3))
    assert [digits(mask)[0] for mask in masks] == given["masks that cancel"][str(bits)]
    assert not sum(masks[1:], start=masks[0]).any()


def test_pads_and_the_coins_of_a_proof():
    given = vector("masks")
    pair, chain = RandomStream(octets(given["pair keys"]["0 1"])), chain_of(given["chain"])
    for kind, words in given["pads of two chains"].items():
        pad = pad_stream(pair, kind, (("a",), ("b", "c")))
        assert digits(WIDE.uniform(pad, 1, 4)) == [words]
    told = given["coins"]
    coins = coins_of(RandomStream(octets(told["secret"])), 1, told["digests of ranges"], chain)
    assert coins.hex() == told["coins"]
    point = point_key(RandomStream(octets(told["secret"])), 1, coins, chain)
    assert point.hex() == told["key of the point"]
    proof = proof_stream(RandomStream(bytes([26]) * 32), 0, coins, chain)
    assert proof.key() == RandomStream(octets(told["key of the proof to receiver 0"])).key()


@pytest.mark.parametrize("case", cases("dealt_rows"))
def test_dealt_rows_and_their_check(case):
    given, ring, wide = vector("dealt_rows"), Ring(case["bits"]), WIDE
    terms, chain, rows = octets(given["terms"]), chain_of(given["chain"]), given["rows"]
    owner, receiver = (
        Masks({0: release_masks(octets(given[f"seed of the {role}"]), terms)})
        for role in ("owner", "receiver")
    )
    times = sacrifice.repetitions(ring)
    left = owner.child("mask", *labels(chain[:1])).wide(ring, 0, rows, 2)
    right = receiver.child("mask", *labels(chain[1:])).wide(ring, 0, rows, 6)
    hidden = owner.child(sacrifice.CHECK_MASK, *labels(chain)).uniform(wide, 0, rows, times * 6)
    pair = RandomStream(octets(given["key of owner and dealer"]))
    pads = wide.uniform(pad_stream(pair, "row-wise share", chain), rows, 12)
    dealt = products.dealt_share(products.row_products(left, right), pads)
    assert digits(dealt) == case["dealt rows"]
    check = wide.uniform(pad_stream(pair, sacrifice.CHECK_PAD, chain), 1, times)[0]
    shared = products.dealt_share(sacrifice.inner(hidden, right), check)
    assert digits(shared)[0] == case["dealt for the check"]

    weights = RandomStream(octets(given["key of owner and receiver"])).child("check weights", *labels(chain))
    weighed = list(sacrifice.weights(ring, weights, rows, 12))
    sent = hidden + np.hstack([sacrifice.combine(weight, left) for weight in weighed])
    sums = check + np.array([sacrifice.weighted_sum(weight, pads) for weight in weighed])
    assert hashlib.sha256(sent.tobytes()).hexdigest() == case["SHA-256 of the rows that the owner sends"]
    assert digits(sums)[0] == case["sums that the owner sends"]

    def left_over(words):
        taken = np.array([sacrifice.weighted_sum(weight, words) for weight in weighed])
        return shared + taken + sums - sacrifice.inner(sent, right)

    assert not left_over(dealt).any()
    wrong = dealt.copy()
    wrong[1, 4] += np.uint64(1)
    assert left_over(wrong).any()


@pytest.mark.parametrize("case", cases("opened_rows"))
def test_opened_rows_and_their_check(case):
    given, ring, wide = vector("opened_rows"), Ring(case["bits"]), WIDE
    chain, rows, left = chain_of(given["chain"]), given["rows"], case["holder"] == "left"
    part, own, other = (chain[:1], 2, 6) if left else (chain[1:], 6, 2)
    masks = Masks({0: release_masks(octets(given["seed of the holder"]), octets(given["terms"]))})
    plan = SimpleNamespace(
        opened_ring=lambda chain: wide if len(chain) > 1 else ring,
        integer_masks=ring.bits == 64,
        ring=ring,
    )
    times = sacrifice.repetitions(ring)
    factor = masks.of(plan, part).wide(ring, 0, rows, own)
    mask = masks.of(plan, chain).wide(ring, 0, rows, 12)
    public = ring.uniform(RandomStream(octets(given["stream of the known factor"])), rows, other).astype("u8")
    share = wide.uniform(RandomStream(octets(given["stream of pads or dealt words"])), rows, 12)
    product = products.row_products(*((factor, public) if left else (public, factor)))
    opened = products.opening(product + share, mask)
    assert digits(opened) == case["opened"]

    recipient, pair = given["place of the receiver"], RandomStream(octets(given["key of dealer and holder"]))
    hidden = opened_check_mask(masks, recipient, chain).uniform(wide, 0, rows, times * other)
    pad = opened_check_pad(plan, pair, recipient, chain)
    sacrificed = sacrifice.inner(hidden, public) - pad
    assert digits(sacrificed)[0] == case["sent by the holder"]
    weights = opened_weights(octets(given["coins"]))
    blocks = [(factor, mask - share, hidden.copy())]
    sent, sums = sacrifice.hidden_sums(ring, weights, blocks, pad, right=not left)
    assert hashlib.sha256(sent.tobytes()).hexdigest() == case["SHA-256 of the rows that the dealer sends"]
    assert digits(sums)[0][:times] == case["sums that the dealer sends"]

    def left_over(words):
        found = sacrifice.unpaired_check([np.vstack([sent, sums])], iter([public]), rows, times)
        tested = sacrifice.weighted_sums(ring, opened_weights(octets(given["coins"])), [words])
        return found + tested + sacrificed

    assert not left_over(opened).any()
    opened[1, 4] += np.uint64(1)
    assert left_over(opened).any()


def proved(case):
    """What the roles of a proof compute."""
    given, ring, dealers = vector("one_hot"), Ring(case["bits"]), case["dealers"]
    rows, integers = len(case["codes"]), case["bits"] == 64
    stream = RandomStream(octets(given["mask key"]))
    shift = ring.dtype.type(6 if integers else 0)
    mask = [ring.uniform(stream, rows, 3) >> shift for _ in range(dealers)]
    opening = products.indicators(ring, np.array(case["codes"]), 3)
    opening[0] *= ring.dtype.type(case["weight of the first row"])
    opening -= sum(mask[1:], start=mask[0])
    kind = IntegerChallenge if integers else Challenge
    challenge = kind.from_coins(octets(given["coins"]), rows, 3, empty=case["rows of zeros are allowed"])
    shown = challenge.sketch([opening], masks=False)

    def streams():
        return [RandomStream(octets(key)) for key in case["keys of owner and dealers, by component"]]

    def receiver():
        return RandomStream(octets(case["key of owner and receiver"]))

    whole = challenge.sketch([sum(mask[1:], start=mask[0])], masks=True)
    proof = prove(challenge, whole, shown, streams(), receiver())
    attestations = []
    for position in range(dealers):
        known = {x: challenge.sketch([mask[x]], masks=True) for x in known_components(dealers, position)}
        point = RandomStream(octets(case["key of the point"]))
        attestations.append(attest(challenge, known, dict(enumerate(streams())), point, dealers, position))

    def accepted(proof, attestations):
        return holds(challenge, shown, proof, attestations, receiver())

    return SimpleNamespace(opening=opening, proof=proof, attestations=attestations, accepted=accepted)


@pytest.mark.parametrize("case", cases("one_hot"))
def test_proofs_of_openings_and_their_verdicts(case):
    found = proved(case)
    assert digits(found.opening) == case["opening"]
    assert str(found.proof[0]) == case["first of the proof"]
    assert hashlib.sha256(found.proof.astype("<u8").tobytes()).hexdigest() == case["proof SHA-256"]
    assert [[str(element) for element in one] for one in found.attestations] == case["attestations"]
    assert found.accepted(found.proof, found.attestations) == case["accepted"]


@pytest.mark.parametrize("place", [0, 1, 33, 64])
def test_a_changed_proof_is_refused(place):
    found = proved(vector("one_hot")["cases"][0])
    changed = found.proof.copy()
    changed[place : place + 1] = field.plus(changed[place : place + 1], field.elements([1]))
    assert not found.accepted(changed, found.attestations)


@pytest.mark.parametrize("place", range(6))
def test_a_changed_attestation_is_refused(place):
    found = proved(vector("one_hot")["cases"][0])
    changed = found.attestations[0].copy()
    changed[place : place + 1] = field.plus(changed[place : place + 1], field.elements([1]))
    assert not found.accepted(found.proof, [changed])


def test_resharing_and_references_of_scores():
    given, ring = vector("resharing"), Ring(32)
    pair = RandomStream(octets(given["key with evaluator 1"]))
    share = np.array(given["share"], dtype=ring.dtype)
    seed = resharing_seed(pair, given["query"], given["place"])
    assert seed.hex() == given["seed"]
    assert digits(share_to_send(ring, share, seed)) == [given["sent to evaluator 0"]]
    assert digits(known_part(ring, [seed], 3)) == [given["known to evaluators 1 and 2"]]
    stream = RandomStream(octets(given["key of the pair for this query"]))
    assert pair_stream_of(pair, given["query"]).key() == stream.key()
    assert references_digest([np.array(given["references"])]).hex() == given["digest of the references"]


def test_points_of_a_token_through_two_parties():
    pytest.importorskip("nacl")
    given = vector("points")
    secrets = [RandomStream(octets(secret)).child_key("scalar of points") for secret in given["secrets"]]
    scalars = [ddh.secret_scalar(secret) for secret in secrets]
    assert [scalar.hex() for scalar in scalars] == given["scalars"]
    point = ddh.hash_to_group(np.frombuffer(octets(given["token"]), dtype="<u8").reshape(1, 2))
    once = ddh.raise_to(point, scalars[0])
    twice = ddh.raise_to(once, scalars[1])
    expected = [given[name] for name in ("point", "after the first party", "after both")]
    assert [found.tobytes().hex() for found in (point, once, twice)] == expected
    assert ddh.group_tokens(twice).tobytes().hex() == given["token for the matcher"]
    for refused in given["refused points"]:
        with pytest.raises(ProtocolError, match="points of the group of prime order"):
            ddh.raise_to(np.frombuffer(octets(refused), dtype=np.uint8).reshape(1, 32), scalars[0])


def test_indicator_vectors_with_noise_and_their_product():
    given, sent = vector("indicator"), []
    for party, (name, size) in enumerate(zip("ab", given["sizes"], strict=True)):
        codes = np.array(given["codes"][party]).reshape(-1, 1)
        table = Table.from_codes(Domain.coded({name: size}), codes)
        stream = RandomStream(octets(given["noise keys"][party]))
        (block,) = noisy_indicators(table, (name,), given["sigmas"][party], stream)
        assert block.ravel().tolist() == given["answers"][party]
        sent.append(block)
    assert multiply(sent, given["sigmas"]).ravel().tolist() == pytest.approx(given["product"])
