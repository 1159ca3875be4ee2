"""Facts and templates of one's own, as files."""

TEMPLATES = '[capital]\nen = "The capital of [X] is [Y]."\nfr = "Capitale de [X] : [Y]."\n'
HEAD = "relation,subject_en,object_en,subject_fr,object_fr\n"
CAPITALS = (
    "capital,Greece,Athens,Grèce,Athènes\n"
    "capital,Peru,Lima,Pérou,Lima\n"
    "capital,Chad,N'Djamena,Tchad,N'Djaména\n"
)
