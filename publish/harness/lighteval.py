"""Tasks of lighteval: one Python file of them, and for local data a card that names the files."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pprint import pformat
from string import Template

import yaml

from polyprobe import __version__
from polyprobe.schema.columns import SLOT

from .configuration import Configuration

HARNESS = "lighteval 0.13.0"
# Of the data folder, behind the stem, which has no dot: a task that is a path as well lighteval
# opens as a list of tasks.
DATA = ".data"
WHOLE = f'''\
def ask_sentence(line, task_name):
    """Return the sentence with each candidate in its slot, behind nothing."""
    sentences = [line["prompt"].replace("{SLOT}", candidate) for candidate in line["candidates"]]
    return ask(line, task_name, "", sentences)


def ask_behind_first_word(line, task_name):
    """Return the sentence behind its first word, or its first letter where no blank follows."""
    before, after = line["prompt"].split("{SLOT}")
    blanks = [at for at, letter in enumerate(before) if letter.isspace() and before[:at].strip()]
    first = blanks[0] if blanks else len(before) - len(before.lstrip()) + 1
    rests = [before[first:] + candidate + after for candidate in line["candidates"]]
    return ask(line, task_name, before[:first], rests)'''
OBJECT = f'''\
def ask_object(line, task_name):
    """Return the candidates behind the prompt up to its slot."""
    return ask(line, task_name, line["prompt"].split("{SLOT}")[0], line["candidates"])'''
PROTOCOLS = {
    "bmlama": """\
Asked: `polyprobe eval --scoring bmlama` of a causal model (BMLAMA, equation 10). A candidate's
score is the mean log-probability of the tokens of the whole sentence with the candidate in its
slot. acc_tokens is this mean; acc takes the best sum over the tokens, acc_norm divides it by the
sentence's code points, acc_bytes by its UTF-8 bytes. lighteval's own norm_token divides all choices
of a row by the same number, their length with padding, and so ranks as acc does; it is not used.

What differs:
- BOS. {stem}
  asks whole sentences behind nothing but the BOS token, which needs a tokenizer that adds one by
  itself: acc_tokens is then polyprobe's score. With any other tokenizer lighteval stops with an
  error. For those there is
  {stem}_no_bos:
  the sentence's first word (its first letter where no blank follows) is the context, and the mean
  is over the tokens behind it. That is polyprobe's score where the word is one token and is cut off
  as in the sentence: without a BOS polyprobe leaves out the first token alone. BLOOM, to which
  polyprobe adds a BOS, has none here.{left_out}
- EOS. One that the tokenizer appends is scored by polyprobe, not here.""",
    "object": """\
Asked: `polyprobe eval --scoring object` of a causal model (Fluent-mLAMA): a candidate's score is
the sum of the log-probabilities of its own tokens behind the prompt. Here the query is the prompt
up to its slot and the candidates are the choices. Text behind the slot is not seen, as in
polyprobe. acc stands for `object`, acc_tokens for `object-tokens`, acc_norm for
`object-characters`, acc_bytes for `object-bytes`.

What differs:
- The boundary. lighteval moves blanks at the end of the query to the choice and tokenizes query and
  choice each alone; polyprobe leaves the blank with the prompt. So tokens and scores differ
  wherever a blank stands before the slot.
- BOS. The query has the special tokens that are the tokenizer's own, `--bos auto` (BLOOM, to which
  polyprobe adds a BOS, has none here). Where nothing stands before the slot and no BOS is added,
  lighteval stops with an error; polyprobe refuses such rows too.""",
}
COMMON = """\
- Ties. The first of several best choices is taken; polyprobe counts the share of right ones among
  them. Equal candidates of a row tie always.
- Length limits. Texts longer than the model reads are cut; polyprobe refuses them.
A row with several right answers counts where the best choice is one of them, as in polyprobe. The
figure of all tasks is the unweighted mean over the languages, polyprobe's `mean`."""


def render_lighteval(configuration: Configuration, scoring: str) -> dict[str, str]:
    """Return the texts of the tasks' file and, for local data, of a card, by file name."""
    stem = configuration.stem(scoring)
    tasks = {f"{stem}.py": render_tasks(configuration, scoring)}
    if configuration.dataset_id:
        return tasks
    return {**tasks, f"{stem}{DATA}/README.md": render_card(configuration)}


def render_tasks(configuration: Configuration, scoring: str) -> str:
    """Return the Python file that `--custom-tasks` takes."""
    stem = configuration.stem(scoring)
    local = f'str(Path(__file__).resolve().parent / "{stem}{DATA}")'
    template = Template(files(__package__).joinpath("lighteval_tasks.txt").read_text("utf-8"))
    return template.substitute(
        head=render_head(configuration, scoring),
        repository=json.dumps(configuration.dataset_id) if configuration.dataset_id else local,
        config=configuration.name,
        languages=pformat(list(configuration.files), width=90, compact=True),
        version=int(configuration.fingerprint[:7], 16),
        prompts=WHOLE if scoring == "bmlama" else OBJECT,
        tables=render_tables(configuration, scoring),
    )


def render_tables(configuration: Configuration, scoring: str) -> str:
    """Return the lines of TASKS_TABLE."""
    stem = configuration.stem(scoring)
    line = '    *(task("{}", {}, language) for language in {}),'
    if scoring == "object":
        return line.format(stem, "ask_object", "LANGUAGES")
    left = list_unprefixed(configuration)
    known = f"LANGUAGES if language not in {left}" if left else "LANGUAGES"
    return "\n".join(
        (
            line.format(stem, "ask_sentence", "LANGUAGES"),
            line.format(f"{stem}_no_bos", "ask_behind_first_word", known),
        )
    )


def list_unprefixed(configuration: Configuration) -> dict[str, int]:
    """Return the languages with prompts that begin with the slot, and how many.

    A model without a BOS has nothing before their choices.
    """
    counts = {
        language: sum(not prefix.strip() for prefix in prefixes)
        for language, prefixes in configuration.prefixes.items()
    }
    return {language: count for language, count in counts.items() if count}


def render_head(configuration: Configuration, scoring: str) -> str:
    """Return what is asked, what differs, and how to run it."""
    stem = configuration.stem(scoring)
    one = f"{stem}:{next(iter(configuration.files))}"
    left = list_unprefixed(configuration)
    rows = ", ".join(f"{language} ({count})" for language, count in left.items())
    told = f"\n  Left out of it are languages with prompts that begin with the slot: {rows}."
    protocol = PROTOCOLS[scoring].replace("{stem}", stem)
    return f"""\
{configuration.title} for {HARNESS}, Parquet files {configuration.fingerprint}.

Made by `polyprobe export --format lighteval --scoring {scoring}` (polyprobe {__version__}). Run it:
lighteval accelerate "model_name=MODEL,override_chat_template=False" \\
    {stem if len(configuration.files) > 1 else one} --custom-tasks {stem}.py
The task of a single language is {one}.
lighteval keeps a model's answers in CACHE/MODEL, CACHE being ~/.cache/huggingface/lighteval or what
",cache_dir=" behind MODEL says. An absolute path as MODEL makes this the model's own folder; a path
relative to the working folder does not.

{protocol.replace("{left_out}", told if left else "")}
{COMMON}"""


def render_card(configuration: Configuration) -> str:
    """Return a card that names the Parquet files where they lie.

    `datasets` 5.2 caches a folder by the configurations in its card alone: by the fingerprint among
    them it reads anew what has changed.
    """
    config: Mapping[str, object] = {
        "config_name": configuration.name,
        "description": f"Parquet files {configuration.fingerprint}",
        "data_files": [
            {"split": language, "path": list(paths)}
            for language, paths in configuration.files.items()
        ],
    }
    head = yaml.safe_dump({"configs": [config]}, sort_keys=False, allow_unicode=True, width=10**6)
    return f"---\n{head}---\n\nWhere the tasks find {configuration.title}.\n"
