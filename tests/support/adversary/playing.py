"""An adversary that plays the steps of an honest release again, late, changed, doubled and in another order.

It is the curator, which relays everything, and perhaps one party or dealer, whose sealed messages it changes
before they are sealed.
"""

import numpy as np

from dpmosaic.common.errors import MosaicError
from support.adversary.changes import Changes
from support.adversary.scenarios import CLOSING, script
from support.adversary.script import MESSAGES
from support.adversary.watching import Reused

CHANGED = ("",) * 7 + ("rows", "rows behind its back", "sampler")
"""What may be different when a role starts again."""

MOVES = 6
"""Largest number of moves of one transcript."""


class Transcript:
    """What the adversary did, and what refused it.

    Attributes:
        moves: each move in words.
        taken: number of steps that were answered.
        refused: number of steps that were refused.
    """

    def __init__(self, scenario, seed, watch):
        self.scenario, self.seed, self.watch = scenario, seed, watch
        self.rng = np.random.default_rng(seed)
        self.moves, self.taken, self.refused = [], 0, 0
        watch.begin()
        self.world = scenario.world(watch)
        self.steps = script(scenario)
        messages = [
            MESSAGES[step.method].FromString(request) for step in self.steps for request in step.requests[:1]
        ]
        self.change = Changes(messages, self.rng)
        self.kinds = set()

    def __str__(self):
        return f"{self.scenario}, seed {self.seed}, {self.deviating} deviates: {'; '.join(self.moves)}"

    def play(self):
        """Plays an honest beginning, then some moves.

        Raises:
            Reused: an honest role used a secret for two values.
        """
        rng, open_steps = self.rng, [step for step in self.steps if step.method not in CLOSING]
        self.deviating = int(rng.integers(len(self.world.seats) + 1))
        self.watch.deviating = {self.deviating} & {seat.place for seat in self.world.seats}
        self.watch.alter = None
        before = int(rng.integers(len(open_steps) // 3, len(open_steps) + 1))
        self._take(open_steps[:before])
        moves = (self.again, self.again, self.restarted, self.changed, self.shuffled, self.forward)
        for _ in range(int(rng.integers(2, MOVES + 1))):
            moves[int(rng.integers(len(moves)))](open_steps)
        self.watch.alter = None
        if rng.random() < 0.2:
            self._take(self.steps[len(open_steps) :])
            self.again(open_steps)
        self.watch.check()
        return self

    def again(self, steps):
        """A run of steps once more, of which the deviating role changes its messages with some probability."""
        first, last = sorted(self.rng.integers(0, len(steps) + 1, 2))
        self._run(f"again {first}:{last}", steps[first:last])

    def forward(self, steps):
        """All steps from one on."""
        first = int(self.rng.integers(len(steps)))
        self._run(f"from {first}", steps[first:])

    def restarted(self, steps):
        """Some roles start again, perhaps with something changed, and all is delivered once more."""
        again = {
            seat.place: str(self.rng.choice(CHANGED)) for seat in self.world.seats if self.rng.random() < 0.6
        }
        for place, changed in again.items():
            self.world.seats[place].restart(changed)
        first = int(self.rng.integers(len(steps) // 2))
        self._run(f"restart {again}, from {first}", steps[first:])

    def changed(self, steps):
        """Some steps with another value of one or two fields."""
        for number in self.rng.integers(0, len(steps), int(self.rng.integers(1, 9))):
            step = steps[number].changed(self.change)
            if self.rng.random() < 0.3:
                step = step.changed(self.change)
            self._run(f"change of {number}", [step])

    def shuffled(self, steps):
        """Some steps in a random order."""
        numbers = self.rng.permutation(len(steps))[: int(self.rng.integers(2, 12))]
        self._run(f"in the order {numbers.tolist()}", [steps[number] for number in numbers])

    def _run(self, name, steps):
        self.moves.append(name)
        share = float(self.rng.choice([0.0, 0.1, 0.5]))
        self.watch.alter = None if not share else lambda content: self._altered(content, share)
        self._take(steps)

    def _altered(self, content, share):
        """A sealed message of the deviating role: one more, or one bit, in a word of its beginning."""
        if len(content) < 4 or self.rng.random() >= share:
            return content
        words = np.frombuffer(content[: len(content) // 4 * 4], dtype="<u4").copy()
        at = int(self.rng.integers(len(words)))
        words[at] = words[at] + 1 if self.rng.random() < 0.5 else words[at] ^ (1 << self.rng.integers(32))
        return words.tobytes() + content[len(words) * 4 :]

    def _take(self, steps):
        for step in steps:
            self.kinds |= step.kinds
            try:
                step.take(self.world)
                self.taken += 1
            except MosaicError:
                self.refused += 1


def broken(scenario, seed, watch):
    """What the transcript of a seed breaks, with its moves; None if it breaks nothing."""
    transcript = Transcript(scenario, seed, watch)
    try:
        transcript.play()
    except Reused as found:
        return f"{transcript}: {found}"
    return None
