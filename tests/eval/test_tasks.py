"""The tasks of a run: their rows, and the remaining tasks."""

import shutil

import pyarrow as pa
import pytest

from polyprobe.eval import evaluate_model
from polyprobe.eval.work import fill
from polyprobe.eval.work.fill import PROMPT_START, make_tasks, queries_of
from polyprobe.eval.work.score_store import ScoreStore, list_stores
from polyprobe.schema.columns import SLOT
from polyprobe.schema.run.folder import Run
from polyprobe.scoring.scorers import Scorer
from polyprobe.system.files import locked
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import needs_ray
from tests.making import tiny
from tests.making.facts import number_subjects, write_facts


def query(name, size=2):
    return f"{name} [Y]", tuple(f"{name}{k}" for k in range(size))


def prompts(made):
    return [(task.number, task.language, [p[0] for p in task.prompts]) for task in made]


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(fill, "CANDIDATES", 4)


def test_tasks_are_cut_by_candidates_and_ask_everything_once(small):
    asked = {"en": [query("a"), query("b"), query("a"), query("c")], "ru": [query("d")]}
    assert prompts(make_tasks(asked, set())) == [(0, "en", ["a", "b"]), (1, "en", ["c"]),
                                                 (2, "ru", ["d"])]  # fmt: skip


def test_a_query_of_more_candidates_than_a_task_is_one_by_itself(small):
    asked = {"en": [query("a"), query("b", 9), query("c")]}
    assert prompts(make_tasks(asked, set())) == [(0, "en", ["a"]), (1, "en", ["b"]),
                                                 (2, "en", ["c"])]  # fmt: skip


def test_beginnings_of_prompts_are_cut_by_candidates_too(small):
    """All have one prompt, the slot alone: nine rows of two candidates, then nine texts of one."""
    rows = [f"{k} is" for k in range(9)]
    columns = {"prompt": [f"{start} [Y]" for start in rows], "candidates": [["a", "b"]] * 9}
    tasks = make_tasks({"en": queries_of(pa.table({**columns, PROMPT_START: rows}))}, set())
    assert [sum(map(len, task.candidates)) for task in tasks] == [4] * 6 + [3]
    pairs = [pair for t in tasks for pair in zip(t.prompts, t.candidates, strict=True)]
    assert [texts for prompt, texts in pairs if prompt == SLOT] == [[text] for text in rows]


def test_rows_with_own_prompts_are_cut_between_prompts_alone(small):
    """Candidates of one prompt tie only in one task; other prompts begin new ones."""
    prompts_of_rows = [["a [Y]"] * 6, ["b [Y]", "c [Y]", "d [Y]", "e [Y]"]]
    candidates = [list("uvwxyz"), list("uvwx")]
    columns = {"prompt": ["a [Y]", "b [Y]"], "candidates": candidates, "prompts": prompts_of_rows}
    asked = {"en": queries_of(pa.table(columns))}
    assert [p for *_, p in prompts(make_tasks(asked, set()))] == [["a"] * 6, ["b", "c", "d", "e"]]


def test_what_is_known_leaves_the_other_tasks_as_they_were(small):
    """The remaining tasks have the same rows, whichever tasks a killed run has saved."""
    asked = {"en": [query(n) for n in "abcdef"], "ru": [query(n) for n in "eghi"]}
    whole = [task[1:] for task in make_tasks(asked, set())]
    for kept in range(2 ** len(whole)):
        done = [task for k, task in enumerate(whole) if kept >> k & 1]
        known = {(p, tuple(c)) for _, *rows in done for p, c in zip(*rows, strict=True)}
        left = [task[1:] for task in make_tasks(asked, known)]
        assert left == [task for task in whole if task not in done]


def test_a_query_of_two_languages_is_scored_in_the_first(small):
    asked = {"en": [query("a"), query("b")], "ru": [query("b"), query("c")]}
    assert prompts(make_tasks(asked, set())) == [(0, "en", ["a", "b"]), (1, "ru", ["c"])]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    tiny.save_model("gpt2", folder / "model")
    tiny.save_model("llama", folder / "other")
    write_facts(folder / "facts", spoil=number_subjects)
    return folder


@pytest.fixture
def calls(monkeypatch):
    asked = []
    whole = Scorer.prepare
    monkeypatch.setattr(Scorer, "prepare", lambda self, p, c: asked.extend(p) or whole(self, p, c))
    return asked


def run(place, output, model="model", **options):
    options = {"donor": False, **options}
    evaluate_model(str(place / model), str(place / "facts"), output=output, **options)
    return [Run(output).read(x) for x in Run(output).settings().languages]


def test_a_later_run_takes_what_is_known(place, tmp_path, calls):
    first = run(place, tmp_path / "a", limit=5)
    assert len(calls) == 3 * 5
    second = run(place, tmp_path / "b")
    assert len(calls) == 3 * 8
    assert [table.slice(0, 5) for table in second] == first
    third = run(place, tmp_path / "c", sample=6)
    assert len(calls) == 3 * 8
    assert all(len(table) == 6 for table in third)


@pytest.mark.parametrize(
    "change", [{"model": "other"}, {"dtype": "bfloat16"}, {"scoring": "object", "bos": "always"},
               {"bos": "always"}, {"attention": "eager"}, {"cache": False}],
)  # fmt: skip
def test_another_model_or_way_to_ask_is_served_nothing(change, place, tmp_path, calls):
    run(place, tmp_path / "a")
    run(place, tmp_path / "b", **change)
    assert len(calls) == 2 * 3 * 8


def test_a_model_is_known_by_its_files_wherever_they_lie(place, tmp_path, calls, cache):
    run(place, tmp_path / "a")
    shutil.copytree(place / "model", tmp_path / "moved")
    assert [store.name for store in list_stores(cache)] == ["model"]
    evaluate_model(
        str(tmp_path / "moved"), str(place / "facts"), output=tmp_path / "b", donor=False
    )
    assert len(calls) == 3 * 8
    assert [store.name for store in list_stores(cache)] == ["moved"]


def test_without_the_cache_nothing_is_left_but_the_run(place, tmp_path, cache, calls):
    run(place, tmp_path / "a", cache=False)
    assert not any(cache.rglob("*"))
    assert not (tmp_path / "a" / ".store").exists()


def test_an_interrupted_run_without_the_cache_goes_on_too(place, tmp_path, monkeypatch, calls):
    monkeypatch.setattr(fill, "CANDIDATES", 4)
    score, scored = Scorer.score_prepared, []

    def interrupted(self, prepared, progress=None):
        if len(scored) == 4:
            raise KeyboardInterrupt
        scored.append(prepared)
        return score(self, prepared, progress)

    monkeypatch.setattr(Scorer, "score_prepared", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(place, tmp_path / "a", cache=False)
    monkeypatch.setattr(Scorer, "score_prepared", score)
    calls.clear()
    run(place, tmp_path / "a", cache=False)
    assert len(calls) == 3 * 8 - sum(len(prepared.numbers) for prepared in scored)
    assert run(place, tmp_path / "b", cache=False) == run(place, tmp_path / "a", cache=False)


def test_two_processes_in_one_run_folder_are_reported(place, tmp_path):
    with (
        locked(tmp_path / "a"),
        pytest.raises(PolyprobeError, match="another process is writing to .*/a; wait for it"),
    ):
        run(place, tmp_path / "a")
    assert all(len(table) == 8 for table in run(place, tmp_path / "a"))


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
def test_whoever_scores_the_files_are_the_same(place, tmp_path):
    here = run(place, tmp_path / "here", device="cpu", cache=False)
    assert run(place, tmp_path / "there", device="cpu", cache=False, devices=2) == here
    texts = [(tmp_path / name / "run.json").read_text() for name in ("here", "there")]
    assert texts[0] == texts[1]


def test_the_store_that_is_cleared_in_mid_run_is_reported(place, tmp_path, monkeypatch):
    monkeypatch.setattr(ScoreStore, "add", lambda *_: None)
    with pytest.raises(
        PolyprobeError, match="language 'en': 8 queries are missing from the score store"
    ):
        run(place, tmp_path / "a")
