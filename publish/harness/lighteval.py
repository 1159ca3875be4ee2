"""Tasks of lighteval: one Python file, and for local data a card that names the files."""

import json
from importlib.resources import files
from pprint import pformat
from string import Template

from polyprobe import __version__
from polyprobe.schema.columns import SLOT

from .configuration import Configuration, to_yaml

HARNESS = "lighteval 0.13.0"
# Suffix of the data folder. The stem of the tasks has no dot: lighteval opens a task whose name is
# also a path as a list of tasks.
DATA = ".data"
WHOLE = f'''\
def ask_sentence(line, task_name):
    """Return the sentence with each candidate in its slot, after an empty context."""
    sentences = [line["prompt"].replace("{SLOT}", candidate) for candidate in line["candidates"]]
    return ask(line, task_name, "", sentences)


def ask_behind_first_word(line, task_name):
    """Return the sentence after its first word, or its first letter if no space follows."""
    before, after = line["prompt"].split("{SLOT}")
    spaces = [at for at, letter in enumerate(before) if letter.isspace() and before[:at].strip()]
    first = spaces[0] if spaces else len(before) - len(before.lstrip()) + 1
    rests = [before[first:] + candidate + after for candidate in line["candidates"]]
    return ask(line, task_name, before[:first], rests)'''
OBJECT = f'''\
def ask_object(line, task_name):
    """Return the candidates after the prompt up to its slot."""
    return ask(line, task_name, line["prompt"].split("{SLOT}")[0], line["candidates"])'''
PROTOCOLS = {
    "bmlama": """\
Protocol: `polyprobe eval --scoring bmlama` of a causal model (BMLAMA, equation 10). The score of a
candidate is the mean log-probability of the tokens of the whole sentence with the candidate in its
slot. acc_tokens is this mean; acc takes the best sum over the tokens, acc_norm divides it by the
sentence's code points, acc_bytes by its UTF-8 bytes. lighteval's own norm_token is not used: it
divides all choices of a row by the same number, their length with padding, and so ranks as acc.

Differences from polyprobe:
- BOS. {stem}
  scores whole sentences after the BOS token only, which needs a tokenizer that adds one by itself:
  acc_tokens is then polyprobe's score. With any other tokenizer lighteval stops with an error; use
  {stem}_no_bos:
  its context is the sentence's first word (its first letter if no space follows), and the mean is
  over the tokens after it. That is polyprobe's score if the word is one token and is tokenized as
  in the sentence: without a BOS polyprobe leaves out the first token only. polyprobe adds a BOS for
  BLOOM, lighteval does not.{excluded}
- EOS. polyprobe scores an EOS that the tokenizer appends, lighteval does not.""",
    "object": """\
Protocol: `polyprobe eval --scoring object` of a causal model (Fluent-mLAMA). The score of a
candidate is the sum of the log-probabilities of its own tokens after the prompt. Here the query is
the prompt up to its slot and the candidates are the choices. As in polyprobe, text after the slot
is ignored. acc is `object`, acc_tokens `object-tokens`, acc_norm `object-characters`, acc_bytes
`object-bytes`.

Differences from polyprobe:
- The boundary. lighteval moves spaces at the end of the query to the choice and tokenizes query and
  choice separately; polyprobe leaves the space with the prompt. So tokens and scores differ if
  there is a space before the slot.
- BOS. The query has the tokenizer's own special tokens, `--bos auto` (polyprobe adds a BOS for
  BLOOM, lighteval does not). If there is nothing before the slot and no BOS is added, lighteval
  stops with an error; polyprobe refuses such rows too.""",
}
COMMON = """\
- Ties. The first of several best choices is taken; polyprobe counts the share of correct ones among
  them. Equal candidates of a row always tie.
- Length limits. Texts longer than the model's limit are cut; polyprobe refuses them.
As in polyprobe, a row with several answers is correct if the best choice is one of them. The
figure of all tasks is the unweighted mean over the languages, polyprobe's `mean`."""


def render_lighteval(configuration: Configuration, scoring: str) -> dict[str, str]:
    """Return {file name: text} of the tasks and, for local data, of a card."""
    stem = configuration.stem(scoring)
    tasks = {f"{stem}.py": render_tasks(configuration, scoring)}
    if configuration.dataset_id:
        return tasks
    return {**tasks, f"{stem}{DATA}/README.md": render_data_card(configuration)}


def render_tasks(configuration: Configuration, scoring: str) -> str:
    """Return the Python file for `--custom-tasks`."""
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
    unprefixed = list_unprefixed(configuration)
    languages = f"LANGUAGES if language not in {unprefixed}" if unprefixed else "LANGUAGES"
    sentence = line.format(stem, "ask_sentence", "LANGUAGES")
    return f"{sentence}\n" + line.format(f"{stem}_no_bos", "ask_behind_first_word", languages)


def list_unprefixed(configuration: Configuration) -> dict[str, int]:
    """Return {language: number of prompts that begin with the slot}, if not zero.

    Without a BOS there is no context before their choices.
    """
    counts = {
        language: sum(not prefix.strip() for prefix in prefixes)
        for language, prefixes in configuration.prefixes.items()
    }
    return {language: count for language, count in counts.items() if count}


def render_head(configuration: Configuration, scoring: str) -> str:
    """Return the docstring of the tasks: command, protocol, differences."""
    stem = configuration.stem(scoring)
    task = f"{stem}:{next(iter(configuration.files))}"
    unprefixed = list_unprefixed(configuration)
    rows = ", ".join(f"{language} ({count})" for language, count in unprefixed.items())
    excluded = f"\n  It excludes languages with prompts that begin with the slot: {rows}."
    protocol = PROTOCOLS[scoring].replace("{stem}", stem)
    return f"""\
{configuration.title} for {HARNESS}, Parquet files {configuration.fingerprint}.

Made by `polyprobe export --format lighteval --scoring {scoring}` (polyprobe {__version__}). Run it:
lighteval accelerate "model_name=MODEL,override_chat_template=False" \\
    {stem if len(configuration.files) > 1 else task} --custom-tasks {stem}.py
The task of a single language is {task}.
lighteval keeps a model's answers in CACHE/MODEL; CACHE is ~/.cache/huggingface/lighteval or the
folder in ",cache_dir=FOLDER" after MODEL. If MODEL is an absolute path, this is the model's own
folder; use a path relative to the working folder.

{protocol.replace("{excluded}", excluded if unprefixed else "")}
{COMMON}"""


def render_data_card(configuration: Configuration) -> str:
    """Return a card with the paths of the Parquet files.

    `datasets` 5.2 caches a folder by the configurations in its card only. With the fingerprint in
    the card it reads changed files again.
    """
    config = {
        "config_name": configuration.name,
        "description": f"Parquet files {configuration.fingerprint}",
        "data_files": [
            {"split": language, "path": list(paths)}
            for language, paths in configuration.files.items()
        ],
    }
    head = to_yaml({"configs": [config]})
    return f"---\n{head}---\n\nThe tasks load {configuration.title} by this card.\n"
