"""The vectors of docs/specification, by the second implementation.

`python -m support.specification_vectors`, in the folder `tests`, writes them.
"""

import hashlib
import json
from pathlib import Path

from . import edwards25519 as edwards
from . import specification as by_hand

FOLDER = Path(__file__).parents[1] / "vectors"
TERMS = hashlib.sha256(b"terms").digest()
CHAIN = (("a",), ("b", "c"))
COLUMNS = {"a": 2, "b": 3, "c": 2}


def key(number):
    return bytes([number]) * 32


def digits(rows, bits):
    """Words as hexadecimal digits, highest first."""
    return [[f"{word:0{bits // 4}x}" for word in row] for row in rows]


def streams():
    """Streams, keys, signatures and keyed digests."""
    mark = (7).to_bytes(8, "big") + key(9)
    ephemeral = key(8)
    labels = ["mask", "1", "ä"]
    what = ["opening", "0", "1", "ä"]
    return {
        "key": key(1).hex(),
        "bytes": by_hand.Stream(key(1)).read(40).hex(),
        "from byte 37": by_hand.Stream(key(1), 37).read(16).hex(),
        "words": [str(word) for word in by_hand.Stream(key(1)).words(3)],
        "elements": [str(element) for element in by_hand.Stream(key(1)).elements(3)],
        "labels": labels,
        "child key": by_hand.child_key(key(1), *labels).hex(),
        "terms": TERMS.hex(),
        "mark": {"events": 7, "head": key(9).hex()},
        "ephemeral": ephemeral.hex(),
        "acceptance": by_hand.sign(key(2), "acceptance of a release", TERMS + mark + ephemeral).hex(),
        "what": what,
        "context from 0 to 2": by_hand.envelope(TERMS, 0, 2, what).hex(),
        "keyed digest": by_hand.keyed_digest(
            key(3), by_hand.envelope(TERMS, 0, 2, ["order of records"]), key(4)
        ).hex(),
    }


def noise():
    """Draws of version 1 of the sampler; the share of noise of one of several parties."""
    cases = []
    for sigma, parties, tolerated in [(0.5, 1, 0), (3.0, 2, 0), (2.5, 4, 1), (1e5, 3, 1)]:
        scale = by_hand.share_scale(sigma, parties - tolerated)
        stream = by_hand.Stream(key(5))
        cases.append(
            {
                "sigma": sigma,
                "parties": parties,
                "tolerated": tolerated,
                "grid": by_hand.grid_of(sigma),
                "scale": scale,
                "draws": by_hand.discrete_gaussian(scale, 12, stream),
            }
        )
    small = by_hand.discrete_gaussian(0.5, 30, by_hand.Stream(key(5)))
    return {"key": key(5).hex(), "sampler": 1, "cases": cases, "sigma 0.5 on whole numbers": small}


def masks():
    """Masks of one and of three components, pads, masks that cancel, and what is bound to an opening."""
    seeds, query = [key(10), key(11), key(12)], hashlib.sha256(b"query").hexdigest()
    chain, cases = CHAIN[:1], []
    for bits in (32, 64):
        for known in (1, 3):
            mask = by_hand.mask_rows(seeds[:known], TERMS, "mask", chain, 0, 4, 2, bits)
            matrix = [[1, 0], [0, 1], [0, 1], [0, 0]]
            opened = [
                [(one - other) % 2**bits for one, other in zip(*rows, strict=True)]
                for rows in zip(matrix, mask, strict=True)
            ]
            cases.append(
                {
                    "bits": bits,
                    "components": known,
                    "codes": [0, 1, 1, -1],
                    "mask": digits(mask, bits),
                    "opening": digits(opened, bits),
                }
            )
    pairs = {(0, 1): key(21), (0, 2): key(22), (1, 2): key(23)}
    of = [{q if p == me else p: k for (p, q), k in pairs.items() if me in (p, q)} for me in range(3)]
    opened = [hashlib.sha256(bytes([n])).hexdigest() for n in (1, 2)]
    labels = by_hand.chain_labels(chain)
    coins = by_hand.child_key(key(24), "one-hot coins", "1", *opened, *labels)
    return {
        "seeds": [seed.hex() for seed in seeds],
        "terms": TERMS.hex(),
        "chain": chain,
        "release key": by_hand.release_key(seeds[0], TERMS).hex(),
        "masks": cases,
        "pair keys": {f"{p} {q}": k.hex() for (p, q), k in pairs.items()},
        "query": query,
        "masks that cancel": {
            str(bits): digits([by_hand.pairwise_mask(me, of[me], query, 3, bits) for me in range(3)], bits)
            for bits in (32, 64)
        },
        "pads of two chains": {
            kind: digits([by_hand.pad(key(21), kind, CHAIN).words(4)], 64)[0]
            for kind in ("product share", "row-wise share", "check share")
        },
        "coins": {
            "secret": key(24).hex(),
            "owner": 1,
            "digests of ranges": opened,
            "coins": coins.hex(),
            "key of the point": by_hand.child_key(key(24), "one-hot point", "1", coins.hex(), *labels).hex(),
            "key of the proof to receiver 0": by_hand.child_key(
                key(26), "one-hot proof", "0", coins.hex(), *labels
            ).hex(),
        },
    }


def dealt_rows():
    """The check of dealt rows of one dealer: what owner, dealer and receiver compute."""
    cases, (left, right) = [], ((CHAIN[0],), (CHAIN[1],))
    m, n, rows, top = 2, 6, 3, 2**64
    for bits in (32, 64):
        times = 1 if bits == 32 else 32
        a = by_hand.mask_rows([key(10)], TERMS, "mask", left, 0, rows, m, bits)
        b = by_hand.mask_rows([key(13)], TERMS, "mask", right, 0, rows, n, bits)
        hidden = by_hand.mask_rows([key(10)], TERMS, "mask of a check", CHAIN, 0, rows, times * n, 64)
        pads = by_hand.pad(key(21), "row-wise share", CHAIN).rows(rows, m * n, 64)
        dealt = [
            [(u * v - p) % top for (u, v), p in zip(((u, v) for u in one for v in other), own, strict=True)]
            for one, other, own in zip(a, b, pads, strict=True)
        ]
        check = by_hand.pad(key(21), "check share", CHAIN).words(times)
        inner = [
            sum(x * y for h, w in zip(hidden, b, strict=True) for x, y in zip(h[k * n :], w, strict=False))
            for k in range(times)
        ]
        weights = by_hand.child_key(key(22), "check weights", *by_hand.chain_labels(CHAIN))
        x, repeated = by_hand.checked_rows(bits, a, b, weights)
        sent = [[(h + x[c // n][i][c % n]) % top for c, h in enumerate(row)] for i, row in enumerate(hidden)]
        sums = [
            (
                check[k]
                + sum(
                    w * p
                    for ws, ps in zip(repeated[k], pads, strict=True)
                    for w, p in zip(ws, ps, strict=True)
                )
            )
            % top
            for k in range(times)
        ]
        digest = hashlib.sha256(b"".join(w.to_bytes(8, "little") for row in sent for w in row)).hexdigest()
        cases.append(
            {
                "bits": bits,
                "dealt rows": digits(dealt, 64),
                "dealt for the check": digits(
                    [[(i - c) % top for i, c in zip(inner, check, strict=True)]], 64
                )[0],
                "SHA-256 of the rows that the owner sends": digest,
                "sums that the owner sends": digits([sums], 64)[0],
            }
        )
    return {
        "seed of the owner": key(10).hex(),
        "seed of the receiver": key(13).hex(),
        "terms": TERMS.hex(),
        "chain": CHAIN,
        "rows": rows,
        "key of owner and dealer": key(21).hex(),
        "key of owner and receiver": key(22).hex(),
        "cases": cases,
    }


def opened_rows():
    """The check of opened shares of a product, by the holder of the left factor or of the last part."""
    cases, terms, rows, top = [], TERMS, 3, 2**64
    sizes = {"left": (2, 6), "last": (6, 2)}
    for bits in (32, 64):
        times = 1 if bits == 32 else 32
        for holder, (own, other) in sizes.items():
            left = holder == "left"
            part, cells = (CHAIN[:1] if left else CHAIN[1:]), own * other
            seeds = [key(10)]
            # With words of 64 bits, masks of one part are integers below 2^58.
            factor = by_hand.mask_rows(seeds, terms, "mask", part, 0, rows, own, bits)
            factor = [[word >> (6 if bits == 64 else 0) for word in row] for row in factor]
            mask = by_hand.mask_rows(seeds, terms, "mask", CHAIN, 0, rows, cells, 64)
            public = by_hand.Stream(key(14)).rows(rows, other, bits)
            share = by_hand.Stream(key(15)).rows(rows, cells, 64)
            opened = []
            for f, q, k, m in zip(factor, public, share, mask, strict=True):
                pairs = [(u, v) for u in f for v in q] if left else [(u, v) for v in q for u in f]
                opened.append([(u * v + a - b) % top for (u, v), a, b in zip(pairs, k, m, strict=True)])
            labels = by_hand.chain_labels(CHAIN)
            source = by_hand.release_key(key(10), terms)
            hidden_key = by_hand.child_key(source, "check of opened rows", "mask", "2", *labels)
            hidden = by_hand.Stream(hidden_key).rows(rows, times * other, 64)
            pad_key = by_hand.child_key(key(21), "check of opened rows", "pad", "2", *labels)
            pad = by_hand.Stream(pad_key).words(times)
            sacrificed = [
                (
                    sum(
                        x * y
                        for h, q in zip(hidden, public, strict=True)
                        for x, y in zip(h[k * other : (k + 1) * other], q, strict=True)
                    )
                    - pad[k]
                )
                % top
                for k in range(times)
            ]
            weights_key = by_hand.child_key(key(31), "check of opened rows")
            repeated = by_hand.repeated_weights(bits, weights_key, rows, cells)
            sent = [
                [
                    (h + x) % top
                    for k, weights in enumerate(repeated)
                    for h, x in zip(
                        hidden[i][k * other :], by_hand.combined_factor(left, f, weights[i]), strict=False
                    )
                ]
                for i, f in enumerate(factor)
            ]
            sums = [
                (
                    pad[k]
                    + sum(
                        w * (m - a)
                        for ws, ms, ks in zip(weights, mask, share, strict=True)
                        for w, m, a in zip(ws, ms, ks, strict=True)
                    )
                )
                % top
                for k, weights in enumerate(repeated)
            ]
            digest = hashlib.sha256(b"".join(w.to_bytes(8, "little") for row in sent for w in row))
            cases.append(
                {
                    "bits": bits,
                    "holder": holder,
                    "opened": digits(opened, 64),
                    "sent by the holder": digits([sacrificed], 64)[0],
                    "SHA-256 of the rows that the dealer sends": digest.hexdigest(),
                    "sums that the dealer sends": digits([sums], 64)[0],
                }
            )
    return {
        "seed of the holder": key(10).hex(),
        "terms": TERMS.hex(),
        "chain": CHAIN,
        "rows": rows,
        "place of the receiver": 2,
        "stream of the known factor": key(14).hex(),
        "stream of pads or dealt words": key(15).hex(),
        "key of dealer and holder": key(21).hex(),
        "coins": key(31).hex(),
        "cases": cases,
    }


def one_hot():
    """Proofs of openings: coins to verdict, right and wrong ones."""
    cases = []
    for kind in ((by_hand.OneHot, 1), (by_hand.OneHotIntegers, 1), (by_hand.OneHotIntegers, 3)):
        for empty in (False, True):
            codes = [0, 2, 1, 1, -1 if empty else 0]
            cases.append(_proof(*kind, codes, empty=empty))
        cases.append(_proof(*kind, [0, 2, 1, 1, -1], empty=False))
        cases.append(_proof(*kind, [0, 2, 1, 1, 0], empty=False, weight=2**18))
    return {"mask key": key(30).hex(), "coins": key(31).hex(), "cases": cases}


def _proof(kind, dealers, codes, *, empty, weight=1):
    """A proof of rows of which the first one has this weight."""
    matrix = [
        [(weight if not row else 1) * (code == cell) for cell in range(3)] for row, code in enumerate(codes)
    ]
    bits, stream = kind.bits, by_hand.Stream(key(30))
    shift = 6 if kind is by_hand.OneHotIntegers else 0
    mask = [
        [[word >> shift for word in row] for row in stream.rows(len(codes), 3, bits)] for _ in range(dealers)
    ]
    whole = [[sum(words) for words in zip(*rows, strict=True)] for rows in zip(*mask, strict=True)]
    opening = [
        [(v - a) % 2**bits for v, a in zip(*both, strict=True)] for both in zip(matrix, whole, strict=True)
    ]
    check = kind(key(31), len(codes), 3, empty)
    shown = check.sketch(opening, False)

    def streams():
        return [by_hand.Stream(key(60 + component)) for component in range(dealers)]

    proof = check.prove(check.sketch(whole, True), shown, streams(), by_hand.Stream(key(33)))
    attestations = []
    for position in range(dealers):
        known = [0] if dealers == 1 else [(position + 1) % 3, (position + 2) % 3]
        sketches = {x: check.sketch(mask[x], True) for x in known}
        point = by_hand.Stream(key(34))
        attestations.append(check.attest(sketches, streams(), point, position, known[0]))
    return {
        "bits": bits,
        "dealers": dealers,
        "rows of zeros are allowed": empty,
        "codes": codes,
        "weight of the first row": weight,
        "keys of owner and dealers, by component": [key(60 + n).hex() for n in range(dealers)],
        "key of owner and receiver": key(33).hex(),
        "key of the point": key(34).hex(),
        "opening": digits(opening, bits),
        "proof SHA-256": hashlib.sha256(b"".join(e.to_bytes(8, "little") for e in proof)).hexdigest(),
        "first of the proof": str(proof[0]),
        "attestations": [[str(element) for element in one] for one in attestations],
        "accepted": check.holds(shown, proof, attestations, by_hand.Stream(key(33))),
    }


def resharing():
    """Step 0 of a score query; its other steps are in tests/common/protocols/scores/vectors."""
    query, share = hashlib.sha256(b"query").hexdigest(), [5, 0, 2]
    seed = by_hand.child_key(key(21), "score shares", query, "3")
    part = by_hand.Stream(seed).words(3, 4)
    references = [1, 0, 9]
    return {
        "key with evaluator 1": key(21).hex(),
        "query": query,
        "place": 3,
        "share": share,
        "seed": seed.hex(),
        "sent to evaluator 0": digits([[(s - p) % 2**32 for s, p in zip(share, part, strict=True)]], 32)[0],
        "known to evaluators 1 and 2": digits([part], 32)[0],
        "key of the pair for this query": by_hand.child_key(key(21), "scores", query).hex(),
        "references": references,
        "digest of the references": hashlib.sha256(
            b"".join(r.to_bytes(8, "little") for r in references)
        ).hexdigest(),
    }


def points():
    """The keying `ddh`: a token through two parties."""
    secrets = [by_hand.child_key(key(n), "scalar of points") for n in (41, 42)]
    token = by_hand.Stream(key(43)).read(16)
    point = edwards.hashed(token)
    once = edwards.multiply(edwards.scalar(secrets[0]), point)
    twice = edwards.encode(edwards.multiply(edwards.scalar(secrets[1]), once))
    return {
        "secrets": [key(n).hex() for n in (41, 42)],
        "scalars": [edwards.scalar(secret).to_bytes(32, "little").hex() for secret in secrets],
        "token": token.hex(),
        "point": edwards.encode(point).hex(),
        "after the first party": edwards.encode(once).hex(),
        "after both": twice.hex(),
        "token for the matcher": hashlib.sha256(b"dpmosaic point token" + twice).digest()[:16].hex(),
        "refused points": [
            (1).to_bytes(32, "little").hex(),
            bytes(32).hex(),
            (2**255 - 19).to_bytes(32, "little").hex(),
        ],
    }


def indicator():
    """Indicator vectors of two parties with noise, and their product."""
    sigmas, sizes = [0.5, 0.75], [2, 3]
    codes = [[0, 1, 1], [2, 0, 0]]
    sent = []
    for party, (sigma, size) in enumerate(zip(sigmas, sizes, strict=True)):
        grid = by_hand.grid_of(sigma)
        drawn = by_hand.discrete_gaussian(grid * sigma, 3 * size, by_hand.Stream(key(50 + party)))
        ones = [code == cell for code in codes[party] for cell in range(size)]
        sent.append([grid * one + number for one, number in zip(ones, drawn, strict=True)])
    grids = [by_hand.grid_of(sigma) for sigma in sigmas]
    product = [
        sum(sent[0][2 * row + i] * sent[1][3 * row + j] for row in range(3)) / (grids[0] * grids[1])
        for i in range(2)
        for j in range(3)
    ]
    return {
        "noise keys": [key(50).hex(), key(51).hex()],
        "sigmas": sigmas,
        "sizes": sizes,
        "codes": codes,
        "answers": sent,
        "product": product,
    }


MAKERS = (streams, noise, masks, dealt_rows, opened_rows, one_hot, resharing, points, indicator)


def written(make):
    """The text of the file of these vectors."""
    return json.dumps({"about": make.__doc__, **make()}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for make in MAKERS:
        (FOLDER / f"{make.__name__}.json").write_text(written(make), encoding="utf-8")
