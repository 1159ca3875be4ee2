"""Free predictions of two runs, fact by fact, as a part of a finding."""

from collections.abc import Iterator, Sequence

from polyprobe.analysis.compare.decodings import Decodings
from polyprobe.report.finding import Column, Part, Role, Table

SHOWN = 3  # examples of each direction in the terminal
ACCEPTED = 3  # accepted forms of an example


def make_decodings_part(decodings: Decodings, names: Sequence[str], correction: str) -> Part:
    """Make the table of the facts that the runs know, and list examples."""
    table = make_counts_table(decodings, names, correction)
    notes = list_notes_of_decodings(decodings, names)
    return Part("Facts that both, one or neither knows", [table, *notes])


def make_counts_table(decodings: Decodings, names: Sequence[str], correction: str) -> Table:
    """List the facts that both, one or neither run knows, by language and length."""
    columns = [
        Column("facts", Role.LABEL),
        Column("both", Role.COUNT),
        *(Column(f"only\n{name}", Role.COUNT) for name in names),
        Column("neither", Role.COUNT),
        Column(f"p ({correction})", Role.P),
    ]
    rows = [
        [f"{x.language} {x.part}", x.agreed, x.only_first, x.only_second, x.neither, x.p_adjusted]
        for x in decodings.counts
    ]
    return Table(columns, rows, ruled=True)


def list_notes_of_decodings(
    decodings: Decodings, names: Sequence[str], examples: int = SHOWN
) -> Iterator[str]:
    """Yield the notes and examples below the table, one line each."""
    yield "p: McNemar's exact test of the facts that only one run knows, taken as independent"
    yield f"single, multi: the answer is one token, several tokens of {names[0]}'s model"
    for language, count in decodings.not_asked.items():
        if count:
            yield f"{count:,} facts in {language} are left out: not asked in one or both runs"
    for place, (name, knows) in enumerate(zip(names, ("first", "second"), strict=True)):
        for language in decodings.not_asked:
            facts = [x for x in decodings.one_sided if (x.language, x.knows) == (language, knows)]
            for fact in facts[:examples]:
                predictions = (fact.first, fact.second)
                yield (
                    f"only {name}, {language}: {fact.prompt} {predictions[place]!r}, not "
                    f"{predictions[1 - place]!r} ({' | '.join(fact.answer_forms[:ACCEPTED])})"
                )
