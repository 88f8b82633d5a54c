"""Drafts of a data protection impact assessment (Art. 35 GDPR) and of a record of processing (Art. 30)."""

from __future__ import annotations

from .card import more_releases, promise_in_words, purpose_of
from .document import Answer, Document, Section, from_certificate, from_institution, from_program
from .institution import Institution
from .subject import Subject

_PROPORTIONATE = from_program(
    "Necessity and proportionality (Art. 35 (7) b)",
    "The purpose is met by statistics. No row, and no exact count, leaves the institution; the release holds "
    "what noisy answers say, and nothing of a single person beyond the promise.",
)


def impact_assessment(subject: Subject, institution: Institution) -> Document:
    """The draft of an assessment of the release."""
    says = institution.says
    residual = (
        "A reader's guess whether a record was in the table is right with probability at most "
        f"{subject.guess:.3f}; "
        "what many people have in common can be learned of each of them, as from any statistics."
    )
    return Document(
        "impact-assessment",
        "Draft of a data protection impact assessment",
        "Art. 35 (7) GDPR. A draft: the controller completes it, asks its data protection officer, "
        "and signs it.",
        (
            Section(
                "The processing",
                (
                    from_certificate(
                        "What is done",
                        f"A synthetic table is made and published. {promise_in_words(subject)}",
                    ),
                    purpose_of(subject, institution),
                    *_controllers(subject, institution),
                    from_institution("Whose data", says("processing", "subjects"), _people(subject)),
                    from_certificate("Which data", _columns(subject)),
                    from_institution("Special categories", says("processing", "special"), _special()),
                    from_institution("Legal basis", says("processing", "legal_basis")),
                    from_certificate(
                        "By what means",
                        f"{subject.mechanism} over the protocol {subject.protocol}. {subject.trust}",
                    ),
                    from_institution("Who gets the result", says("processing", "recipients"), _recipients()),
                    from_institution("How long", says("processing", "retention"), _retention()),
                ),
            ),
            Section(
                "Necessity",
                (
                    from_institution(
                        _PROPORTIONATE.question, says("processing", "necessity"), _PROPORTIONATE
                    ),
                    from_program("Data minimisation", _minimisation(subject)),
                ),
            ),
            Section(
                "Risks and measures",
                (
                    from_certificate("Singling out, linking, inferring a person from the table", residual),
                    from_certificate("Participants who collude", subject.collusion or subject.trust),
                    more_releases("More releases of the same records", subject),
                    from_program(
                        "A wrong promise",
                        "Certificates are verified by two programs that share no code, from what "
                        "parties signed.",
                    ),
                    from_program(
                        "Wrong conclusions from noise",
                        "Error bounds are in the certificate, intervals in every query; rows are "
                        "marked as synthetic.",
                    ),
                    from_program(
                        "Leaks by the software",
                        "The threat model lists attacks, what stands in their way, remaining risks "
                        "and the tests.",
                    ),
                    from_certificate(
                        "Labels of the release", "; ".join(subject.labels) or "none: private as promised"
                    ),
                ),
            ),
            Section(
                "Consultation",
                (
                    from_institution(
                        "Advice of the data protection officer (Art. 35 (2))", says("processing", "advice")
                    ),
                    from_institution(
                        "Views of the people concerned (Art. 35 (9))", says("processing", "views"), _views()
                    ),
                ),
            ),
        ),
    )


def processing_record(subject: Subject, institution: Institution) -> Document:
    """The draft of the entry in the record of processing activities."""
    says = institution.says
    return Document(
        "record-of-processing",
        "Draft of a record of processing",
        "Art. 30 (1) GDPR, a to g; each joint controller keeps its own.",
        (
            Section(
                "Art. 30 (1)",
                (
                    *_controllers(subject, institution),
                    purpose_of(subject, institution),
                    from_institution(
                        "Categories of people", says("processing", "subjects"), _people(subject)
                    ),
                    from_certificate("Categories of personal data", _columns(subject)),
                    from_institution(
                        "Categories of recipients", says("processing", "recipients"), _recipients()
                    ),
                    from_institution(
                        "Transfers to third countries", says("processing", "transfers"), _transfers()
                    ),
                    from_institution(
                        "Time limits for erasure", says("processing", "retention"), _retention()
                    ),
                    from_program("Technical measures (Art. 32)", _measures(subject)),
                    from_certificate("Measure of anonymisation", promise_in_words(subject)),
                    from_certificate("Date of the processing", subject.asked or subject.day),
                ),
            ),
        ),
    )


def _controllers(subject: Subject, institution: Institution) -> tuple[Answer, ...]:
    """Who is responsible: each party by its role, and who coordinates."""
    if not subject.members:
        question = "Controller"
        publisher = institution.says("dataset", "publisher")
        return (from_institution(question, publisher),)
    answers = []
    for member in subject.members:
        known = [
            institution.of_controller(member.name, key)
            for key in ("institution", "contact", "officer", "role")
        ]
        held = f"{', '.join(member.attributes)}: {member.records} records or positions"
        drafted = from_certificate(
            f"Joint controller {member.name}",
            f"{member.name}, as it signed; decides on, and answers from, its own rows ({held})",
        )
        answers.append(from_institution(drafted.question, "; ".join(filter(None, known)), drafted))
    roles = "asks, relays and fits the model; sees noisy answers alone"
    dealers = f"; {', '.join(subject.dealers)} deal randomness and see no rows" if subject.dealers else ""
    contact = f", contact {subject.contact}" if subject.contact else ""
    return (*answers, from_certificate("Coordination (curator)", f"{roles}{dealers}{contact}"))


def _people(subject: Subject) -> Answer:
    return from_certificate("Whose data", f"The people behind the records: {subject.records}. {subject.unit}")


def _columns(subject: Subject) -> str:
    each = (f"{table.name}: {', '.join(column.name for column in table.columns)}" for table in subject.tables)
    return "; ".join(each)


def _minimisation(subject: Subject) -> str:
    if not subject.members:
        return (
            "The program reads the columns of the table that it is given, in one place, and opens "
            "noisy answers alone."
        )
    return (
        "Parties show each other and the curator random shares or noisy answers, never rows; only "
        "columns of the "
        "agreed domain take part."
    )


def _measures(subject: Subject) -> str:
    if not subject.members:
        return (
            "Rows are read in one place; noise is added before anything is written; no values in "
            "logs or errors."
        )
    return (
        "Rows stay at their institution; mutual TLS between pinned identities; sealed messages; "
        "noise before anything "
        "is opened; hash-chained ledgers; no values in logs or errors."
    )


def _special() -> Answer:
    return from_program(
        "Special categories",
        "Not known to the program: treat all columns as if they were, until the list is read.",
    )


def _recipients() -> Answer:
    return from_program(
        "Recipients",
        "Whoever gets the synthetic table; the promise holds whoever reads it, and whatever they know.",
    )


def _transfers() -> Answer:
    return from_program(
        "Transfers", "None of personal data: rows and exact counts do not leave their institutions."
    )


def _retention() -> Answer:
    return from_program(
        "Erasure",
        "The release keeps no real row. Secrets of the protocol are erased when it is certified; "
        "ledgers keep costs. "
        "The real rows are kept as before, by each institution's own rule.",
    )


def _views() -> Answer:
    return from_program(
        "Views",
        "Not sought by the program; the promise in plain words is in the data card, for that purpose.",
    )
