"""Three examples for each command, with which its help begins."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, str, str]] = {
    "": (
        "dpmosaic synthesize patients.csv --epsilon 1 --out release",
        'dpmosaic query release "SELECT sex, AVG(age) FROM release GROUP BY sex"',
        "dpmosaic simulate patients.csv --domain domain.json --grid 2x2 --out simulated",
    ),
    "synthesize": (
        "dpmosaic synthesize patients.csv --epsilon 1 --out release",
        "dpmosaic synthesize visits.csv --key patient --order day --out release",
        "dpmosaic synthesize patients.csv --domain domain.json --target died --rows 1000 --out release",
    ),
    "budget": (
        "dpmosaic budget patients.csv",
        "dpmosaic budget patients.csv --limit 3",
        "dpmosaic budget patients.csv --json",
    ),
    "resume": (
        "dpmosaic resume release",
        "dpmosaic resume release --anyway",
        "dpmosaic resume release --json",
    ),
    "simulate": (
        "dpmosaic simulate patients.csv --domain domain.json --grid 2x2 --out release",
        "dpmosaic simulate patients.csv --domain domain.json --mechanism mst --epsilon 2",
        "dpmosaic simulate patients.csv --domain domain.json --grid 1x2 --protocol masked --dealers 3",
    ),
    "demo": (
        "dpmosaic demo",
        "dpmosaic demo --report demo.html",
        "dpmosaic demo --json",
    ),
    "evaluate": (
        "dpmosaic evaluate patients.csv release/synthetic.csv --domain domain.json",
        "dpmosaic evaluate patients.csv release/synthetic.csv --domain domain.json --target died",
        "dpmosaic evaluate patients.csv release/synthetic.csv --domain domain.json --report report.html",
    ),
    "attack": (
        "dpmosaic attack patients.csv release",
        "dpmosaic attack patients.csv release --report attack.html",
        "dpmosaic attack patients.csv release --holdout others.csv",
    ),
    "query": (
        'dpmosaic query release "SELECT sex, AVG(age) FROM release GROUP BY sex"',
        'dpmosaic query release "SELECT MONTH(day), COUNT(*) FROM release GROUP BY 1" --csv months.csv',
        "dpmosaic query release \"SELECT SHARE(age > 65) FROM release WHERE town LIKE 'B%'\" --level 0.99",
    ),
    "generate": (
        "dpmosaic generate release --rows 100000 --out more.csv",
        "dpmosaic generate release --rows 1000 --where sex=F,age=30..39 --out some.csv",
        "dpmosaic generate release --rows 1000 --format parquet --out more.parquet",
    ),
    "copies": (
        "dpmosaic copies release --out copies",
        "dpmosaic copies release --number 20 --out copies",
        "dpmosaic copies release --number 20 --format parquet --out copies",
    ),
    "dossier": (
        "dpmosaic dossier release --out dossier",
        "dpmosaic dossier release --institution institution.toml --out dossier",
        "dpmosaic dossier simulated --out dossier/simulated",
    ),
    "mechanisms": (
        "dpmosaic mechanisms",
        "dpmosaic mechanisms --json",
        "dpmosaic simulate patients.csv --domain domain.json --mechanism aim --set alpha=0.8",
    ),
}
"""By the name of the command; of `dpmosaic` itself by the empty name."""


def with_examples(name: str, text: str) -> str:
    """The help of a command with its examples, after the sentence that says what it does.

    Args:
        name: of the command, as in `EXAMPLES`.
        text: its help.
    """
    shown = "\n".join(EXAMPLES.get(name, ()))
    first, _, rest = text.partition("\n\n")
    return "\n\n".join(part for part in (first, shown, rest) if part)
