"""An adversary that plays the steps of honest releases again, late, changed, doubled and in another order.

It is the curator, which relays everything, and up to two other roles, whose sealed messages it changes before
they are sealed.
"""

import numpy as np

from dpmosaic.common.canonical.terms import decode_terms
from dpmosaic.common.errors import MosaicError
from dpmosaic.common.wire import party_pb2 as pb
from support.adversary.changes import Changes
from support.adversary.scenarios import CLOSING, script
from support.adversary.script import MESSAGES, Ask
from support.adversary.watching import Reused

CHANGED = ("",) * 4 + ("rows",) + ("rows behind its back", "sampler") * 2
"""What may be different when a role starts again."""

MOVES = 6
"""Largest number of moves of one transcript."""


class Transcript:
    """What the adversary does, and what refuses it.

    Args:
        scenario: the releases.
        seed: of all choices.
        watch: sees what honest roles do; installed.

    Attributes:
        deviating: places of the roles that deviate.
        moves: each move in words.
        taken: number of steps that were answered.
        refused: number of steps that were refused.
    """

    def __init__(self, scenario, seed, watch):
        self.scenario, self.seed, self.watch = scenario, seed, watch
        self.rng = rng = np.random.default_rng(seed)
        self.moves, self.taken, self.refused = [], 0, 0
        watch.begin()
        self.world = scenario.world(watch)
        self.steps = script(scenario)
        asked = [MESSAGES[step.method].FromString(one) for step in self.steps for one in step.requests]
        self.change = Changes(asked, rng)
        places = rng.permutation(len(self.world.seats))[: int(rng.choice([0, 1, 1, 1, 2]))]
        self.deviating = set(map(int, places))
        # A curator that stops listening, or software that is at fault, but not both at once.
        self.stops = rng.random() < 0.3
        self._sent = {}

    def __str__(self):
        who = f"{sorted(self.deviating)} deviate" if self.deviating else "the curator deviates"
        return f"{self.scenario}, seed {self.seed}, {who}: {'; '.join(self.moves)}"

    def play(self):
        """Plays an honest beginning, then some moves.

        Raises:
            Reused: an honest role used a secret for two values.
        """
        rng, steps = self.rng, [step for step in self.steps if step.method not in CLOSING]
        self.watch.deviating, self.watch.alter = self.deviating, None
        self._take(steps[: int(rng.integers(len(steps) // 8, len(steps) + 1))])
        moves = (self.again, self.onward, self.restarted, self.restarted, self.changed, self.shuffled)
        moves += (self.rekeyed,) * bool(self.deviating)
        for _ in range(int(rng.integers(2, MOVES + 1))):
            moves[int(rng.integers(len(moves)))](steps)
        if rng.random() < 0.2:
            self._run("the end", self.steps[len(steps) :])
            self.again(steps)
        self.watch.check()
        return self

    def again(self, steps):
        """Some steps that follow each other once more."""
        first, last = sorted(self.rng.integers(0, len(steps) + 1, 2))
        self._run(f"again {first}:{last}", steps[first:last])

    def onward(self, steps):
        """All steps from one on."""
        first = int(self.rng.integers(len(steps)))
        self._run(f"from {first}", steps[first:])

    def restarted(self, steps):
        """Some roles start again, perhaps with something changed, and all is delivered once more."""
        seats = (seat for seat in self.world.seats if self.rng.random() < 0.6)
        again = {seat.place: self._changed_at_start() for seat in seats}
        for place, changed in again.items():
            self.world.seats[place].restart(changed)
        first = int(self.rng.integers(len(steps) // 2))
        curators = {place for place in again if self.world.seats[place].curators}
        begun = [step for step in steps if step.place in curators and step.method in ("Accept", "Introduce")]
        self._run(f"restart {again}, from {first}", begun + steps[first:])

    def changed(self, steps):
        """Some steps with another value of one or two fields."""
        for number in self.rng.integers(0, len(steps), int(self.rng.integers(1, 9))):
            step = steps[number]
            for _ in range(int(self.rng.choice([1, 1, 2]))):
                step = step.changed(self.change, int(self.rng.integers(len(step.requests))))
            self._run(f"change of {number}", [step])

    def shuffled(self, steps):
        """Some steps in a random order."""
        numbers = self.rng.permutation(len(steps))[: int(self.rng.integers(2, 12))]
        self._run(f"in the order {numbers.tolist()}", [steps[number] for number in numbers])

    def rekeyed(self, steps):
        """A deviating role has new keys for other participants, and is introduced with them to some."""
        place = int(self.rng.choice(sorted(self.deviating)))
        self.world.seats[place].forget_keys(self.rng.bytes(32))
        introduced = []
        for accept in (step for step in steps if step.method == "Accept" and step.place == place):
            for reply in self._take([accept]):
                for step in (step for step in steps if _introduces(step, accept)):
                    if self.rng.random() < 0.7:
                        introduced.append(_introduction(step, place, reply))
        first = int(self.rng.integers(len(steps)))
        self._run(f"other keys of {place}, from {first}", introduced + steps[first:])

    def _run(self, name, steps):
        self.moves.append(name)
        share = float(self.rng.choice([0.0, 0.1, 0.5]))
        self.watch.alter = None if not share else lambda content: self._altered(content, share)
        self._take(steps, relayed=True)
        self.watch.alter = None

    def _altered(self, content, share):
        """A sealed message of a deviating role: one more in a word, or another bit."""
        if len(content) < 4 or self.rng.random() >= share:
            return content
        words = np.frombuffer(content[: len(content) // 4 * 4], dtype="<u4").copy()
        at = int(self.rng.integers(len(words)))
        words[at] = words[at] + 1 if self.rng.random() < 0.5 else words[at] ^ (1 << self.rng.integers(32))
        return words.tobytes() + content[len(words) * 4 :]

    def _take(self, steps, relayed=False):
        """Takes steps; the replies to those that were answered."""
        answered = []
        for step in steps:
            relay = self._relayed if relayed and self.rng.random() < 0.1 else list
            if self.stops and self.rng.random() < 0.2:
                answered += self._one(step, int(self.rng.integers(1, 4)), relay)
                if self.rng.random() < 0.5:
                    self.world.seats[step.place].restart(changed := self._changed_at_start())
                    self.moves.append(f"{step.place} restarts in the middle {changed}")
                    answered += self._one(step)
            else:
                answered += self._one(step, None, relay)
        return answered

    def _one(self, step, most=None, relay=list):
        try:
            replies = step.take(self.world, most, relay)
        except MosaicError:
            self.refused += 1
            return []
        self._sent.setdefault(step, replies)
        self.taken += 1
        return replies

    def _changed_at_start(self):
        """What is different when a role starts again; not the sampler if the curator stops in the middle."""
        return str(self.rng.choice([one for one in CHANGED if one != "sampler" or not self.stops]))

    def _relayed(self, replies):
        """What the curator delivers in place of replies: earlier ones, some of them, or others."""
        rng = self.rng
        match int(rng.integers(4)):
            case 0:
                earlier = list(self._sent.values())
                return earlier[int(rng.integers(len(earlier)))] if earlier else replies
            case 1:
                return replies[: int(rng.integers(len(replies) + 1))]
            case 2:
                return [replies[i] for i in rng.integers(0, len(replies), len(replies))] if replies else []
        frames = [bytearray(reply) for reply in replies]
        if frames:
            frame = frames[int(rng.integers(len(frames)))]
            frame[int(rng.integers(len(frame)))] ^= 1 << int(rng.integers(8))
        return list(map(bytes, frames))


def broken(scenario, seed, watch):
    """What the transcript of a seed breaks, with its moves; None if it breaks nothing."""
    transcript = Transcript(scenario, seed, watch)
    try:
        transcript.play()
    except Reused as found:
        return f"{transcript}: {found}"
    return None


def _introduces(step, accept):
    """Whether a step introduces the participants of a release that was accepted."""
    if step.method != "Introduce":
        return False
    terms = decode_terms(pb.SignedTerms.FromString(accept.requests[0]).terms)
    return pb.Introduction.FromString(step.requests[0]).release_id == terms.release_id


def _introduction(step, place, reply):
    """A step that introduces one participant with another acceptance."""
    message = pb.Introduction.FromString(step.requests[0])
    message.acceptances[place].CopyFrom(pb.Acceptance.FromString(reply))
    return Ask(step.place, step.method, (message.SerializeToString(),))
