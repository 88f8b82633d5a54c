"""The data card of a release: what a reader of the synthetic table has to know."""

from __future__ import annotations

from ...common.privacy.rounding import text_above
from .document import Answer, Document, Section, from_certificate, from_institution, from_program
from .institution import Institution
from .subject import Column, DescribedTable, Subject

_NAMED_CATEGORIES = 6
"""At most so many categories of a column are listed."""


def data_card(subject: Subject, institution: Institution) -> Document:
    """The data card."""
    title = title_of(subject, institution)
    tables = tuple(
        Section(f"Columns of {table.name}", tuple(map(_column, table.columns))) for table in subject.tables
    )
    return Document(
        "data-card",
        f"Data card: {title}",
        "What this synthetic table is, what it promises to the people behind it, and how near it is.",
        (
            _about(subject, institution),
            _promise(subject),
            _quality(subject),
            *tables,
            Section(
                "Files",
                tuple(from_certificate(name, f"SHA-256 {digest}") for name, digest in subject.files.items()),
            ),
        ),
    )


def title_of(subject: Subject, institution: Institution) -> str:
    """The title of the synthetic table; names of its columns if the institution gives none."""
    given = institution.says("dataset", "title")
    names = [column.name for column in subject.tables[0].columns]
    return given or f"Synthetic table of {', '.join(names[:3])}" + (" and more" if len(names) > 3 else "")


def description_of(subject: Subject, institution: Institution) -> str:
    """What the synthetic table is, in a few sentences."""
    given = institution.says("dataset", "description")
    privacy = promise_in_words(subject)
    made = (
        f"Synthetic rows ({subject.rows}), generated and not copied, that preserve statistics of real ones."
    )
    return " ".join(filter(None, (given, made, privacy)))


def promise_in_words(subject: Subject) -> str:
    """What was promised, in one or two sentences."""
    if not subject.private:
        return "Not differentially private as stated: " + "; ".join(subject.labels)
    by_rho = "" if subject.zcdp_rho is None else f" (promised as rho = {subject.zcdp_rho:.6g} of zCDP)"
    return (
        f"Differentially private with epsilon = {text_above(subject.epsilon)} and delta = "
        f"{text_above(subject.delta, 3)}{by_rho}, "
        f"under {subject.adjacency}. {subject.unit}"
    )


def purpose_of(subject: Subject, institution: Institution) -> Answer:
    """What the table is for, as the parties signed it or as the institution says."""
    question = "What is it for?"
    if subject.purpose:
        return from_certificate(question, subject.purpose)
    return from_institution(question, institution.says("dataset", "use"))


def _about(subject: Subject, institution: Institution) -> Section:
    says = institution.says
    contact = from_certificate("Who answers questions?", subject.contact) if subject.contact else None
    return Section(
        "The table",
        (
            from_institution("What does the real table hold?", says("dataset", "description")),
            from_certificate(
                "What is this table?", f"{_sizes(subject.tables)}, generated from a model and not copied"
            ),
            purpose_of(subject, institution),
            from_institution("What must it not be used for?", says("dataset", "not_for"), _not_for()),
            from_institution("Who publishes it?", says("dataset", "publisher")),
            from_institution("Who answers questions?", "", contact),
            from_institution("How and when were the real rows collected?", says("dataset", "collected")),
            from_institution("Whom does the real table lack or count wrongly?", says("dataset", "biases")),
            from_institution("Under which licence may it be used?", says("dataset", "license")),
            from_institution("Who maintains it?", says("dataset", "upkeep")),
            from_certificate(
                "When was it made, and by what?", f"{subject.day}, by dpmosaic {subject.version}"
            ),
        ),
    )


def _not_for() -> Answer:
    return from_program(
        "What must it not be used for?",
        "To decide about a person: no row is one. To measure rare groups, or what only marginals of many "
        "columns show: noise dominates them.",
    )


def more_releases(question: str, subject: Subject) -> Answer:
    """What becomes of the promise with other releases of the same records."""
    if subject.sharing:
        return from_certificate(question, subject.sharing)
    return from_program(
        question,
        "Their costs add up. A ledger, of each party or beside the table, reserves them before noise is "
        "drawn, and refuses what exceeds its limit.",
    )


def _promise(subject: Subject) -> Section:
    spent = "the certificate does not state it"
    if subject.epsilon_spent is not None:
        spent = f"epsilon {text_above(subject.epsilon_spent)} at delta {text_above(subject.delta, 3)}"
    who = ", ".join(member.name for member in subject.members)
    signed = (
        f"Yes: by {who}, each over its own ledger" if subject.signed else "No: it is the word of its maker"
    )
    return Section(
        "The promise",
        (
            from_certificate("What is promised?", promise_in_words(subject)),
            from_certificate("Which tables are compared?", subject.adjacency_in_words),
            from_certificate(
                "What does that mean?",
                "Whoever guesses, from even odds, which of two such tables it was is right with probability "
                f"at most {subject.guess:.3f}.",
            ),
            from_certificate("How much of it was used?", spent),
            more_releases("What of other releases of the same records?", subject),
            from_certificate("Who had to be trusted?", subject.trust),
            *(
                [from_certificate("Who could read more together?", subject.collusion)]
                if subject.collusion
                else []
            ),
            from_certificate("Did the institutions sign it?", signed),
            from_program(
                "How is it verified?",
                "Open verify.html and drop the folder of the release on it; it needs no network.",
            ),
        ),
    )


def _quality(subject: Subject) -> Section:
    answers = [
        from_certificate(
            pair,
            f"total variation distance at most {distance:.3f}, with probability {subject.confidence:.2f}",
        )
        for pair, distance in subject.worst
    ]
    known = from_certificate("How many real records are there?", subject.records)
    none = from_certificate("Which marginals are worst?", "the certificate states no bound on errors")
    return Section("How near it is: the marginals with the largest bounds", (known, *(answers or [none])))


def _column(column: Column) -> Answer:
    parts = [column.kind]
    if column.categories:
        more = len(column.categories) - _NAMED_CATEGORIES
        listed = ", ".join(column.categories[:_NAMED_CATEGORIES])
        parts.append(f"one of {listed}" + (f" and {more} more" if more > 0 else ""))
    if column.minimum and column.maximum:
        parts.append(f"from {column.minimum} to {column.maximum}")
    if column.missing:
        parts.append("may be missing")
    return from_certificate(column.name, "; ".join(parts))


def _sizes(tables: tuple[DescribedTable, ...]) -> str:
    each = (f"{table.name}: {table.rows} rows, {len(table.columns)} columns" for table in tables)
    return "; ".join(each)
