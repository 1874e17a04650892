"""What became of the inputs: results, refusals and failures, counted."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """Something that must not happen; ``signature`` tells distinct ones apart."""

    signature: str
    text: str


@dataclass
class Ledger:
    """What became of one input, or of many."""

    inputs: int = 0
    finite: int = 0
    #: errors that are as they should be, by type
    refused: Counter = field(default_factory=Counter)
    failures: list = field(default_factory=list)

    def fail(self, signature, text):
        """Note a failure."""
        self.failures.append(Failure(signature, text))

    def add(self, other):
        """Take over what another ledger holds."""
        self.inputs += other.inputs
        self.finite += other.finite
        self.refused.update(other.refused)
        self.failures += other.failures

    def signatures(self):
        """How often each distinct failure was seen."""
        return Counter(failure.signature for failure in self.failures)


LEGEND = (
    "(finite: calls with a finite result; clean errors: calls that were refused as they should\n"
    " be, by type; an input makes one call or several)"
)


def table(ledgers, seconds):
    """One line for each generator."""
    lines = [f"{'generator':<12} {'inputs':>8} {'per second':>10} {'finite':>8} {'failures':>8} "
             f"{'sorts':>8}  clean errors"]  # fmt: skip
    for name, ledger in ledgers.items():
        errors = ", ".join(f"{kind} {n}" for kind, n in sorted(ledger.refused.items()))
        rate = ledger.inputs / max(seconds[name], 1e-9)
        lines.append(
            f"{name:<12} {ledger.inputs:>8} {rate:>10.1f} {ledger.finite:>8} "
            f"{len(ledger.failures):>8} {len(ledger.signatures()):>8}  {errors}"
        )
    return "\n".join(lines)
