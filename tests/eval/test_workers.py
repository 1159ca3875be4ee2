"""Workers do not affect scores, and no tasks or processes are lost or left over."""

import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from polyprobe.eval import evaluate_model
from polyprobe.eval.work.workers import Task, processes, ray_cluster, score_here
from polyprobe.eval.work.workers.processes import score_in_processes
from polyprobe.scoring.engine import Engine
from polyprobe.scoring.load import ModelSource
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.devices import limit_threads
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import OPTIONS, PLACES, command_of, here, silent, tasks_of
from tests.making.facts import write_facts
from tests.making.tiny import save_model
from tests.making.waiting import PATIENCE


class Stub:
    model = None

    def __init__(self):
        self.calls = []
        self.engine = SimpleNamespace()

    def prepare(self, prompts, candidates):
        self.calls.append(("prepare", prompts[0]))
        if prompts[0] == "bad":
            raise PolyprobeError("a prompt is bad")
        return prompts[0]

    def score_prepared(self, prepared, progress):
        self.calls.append(("score", prepared))
        progress(1, 1)
        return f"scores of {prepared}"


def stub_tasks(*prompts):
    return [Task(k, "xx", [prompt], [["a"]]) for k, prompt in enumerate(prompts)]


class TestHere:
    def test_each_task_comes_in_order_with_what_the_scorer_says(self):
        seen = []
        tasks = stub_tasks("a", "b", "c")
        got = list(score_here(Stub(), tasks, lambda *call: seen.append(call)))
        assert got == [(t, f"scores of {t.prompts[0]}") for t in tasks]
        assert seen == [(t, 1, 1) for t in tasks]

    def test_the_next_task_is_prepared_while_the_model_runs(self):
        next_prepared = threading.Event()

        class Waits(Stub):
            def prepare(self, prompts, candidates):
                if prompts[0] == "b":
                    next_prepared.set()
                return super().prepare(prompts, candidates)

            def score_prepared(self, prepared, progress):
                assert next_prepared.wait(PATIENCE)
                return super().score_prepared(prepared, progress)

        assert len(list(score_here(Waits(), stub_tasks("a", "b"), silent))) == 2

    def test_no_more_than_one_task_is_prepared_ahead(self):
        scorer = Stub()
        with closing(score_here(scorer, stub_tasks(*"abcdef"), silent)) as results:
            next(results)
        assert sorted(scorer.calls) == [("prepare", "a"), ("prepare", "b"), ("score", "a")]

    def test_what_is_wrong_with_a_task_comes_after_the_one_before_it(self):
        results = score_here(Stub(), stub_tasks("a", "bad", "c"), silent)
        assert next(results)[1] == "scores of a"
        with pytest.raises(PolyprobeError, match=r"^language 'xx': a prompt is bad$"):
            next(results)

    def test_scores_are_the_scorers_own(self, scorers):
        for task, scored in score_here(scorers("llama"), tasks_of(3), silent):
            assert scored == scorers("llama").score_counted(task.prompts, task.candidates)

    def test_no_task_has_no_result(self):
        assert list(score_here(Stub(), [], silent)) == []


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_model("llama", tmp_path_factory.mktemp("tiny")))


def workers():
    found = psutil.Process().children(recursive=True)
    return [p for p in found if "--multiprocessing-fork" in command_of(p)]


@pytest.mark.slow
class TestDeviceWorkers:
    @pytest.mark.acceptance
    def test_two_workers_one_killed_in_mid_run_give_the_scores_of_one(self, model):
        tasks, seen, seen_workers = tasks_of(400), {}, set()

        def progress(task, done, total):
            seen[task.number] = (done, total)
            seen_workers.update(workers())  # with the one that has scored this task

        results = score_in_processes(ModelSource(model, OPTIONS), tasks, 2, progress)
        first, scored = next(results)
        killed, _ = workers()
        killed.kill()
        killed.wait()  # which reaps it, so that its parent never sees its status
        got = {first.number: scored}
        got |= {task.number: scored for task, scored in results}
        assert got == here(model, tasks)
        assert sorted(seen) == list(range(400))
        assert all(done == total > 0 for done, total in seen.values())
        assert len(seen_workers) == 3  # the killed one is replaced
        assert not workers()

    def test_a_mistake_in_a_task_comes_in_one_line_after_what_was_done(self, model):
        tasks = tasks_of(20)
        bad = Task(20, "ja", ["no slot here"], [PLACES[:4]])
        got = {}
        results = score_in_processes(ModelSource(model, OPTIONS), [*tasks, bad], 1, silent)
        with pytest.raises(PolyprobeError, match=r"^language 'ja': .*no slot here") as caught:
            got.update((task.number, scored) for task, scored in results)
        assert "\n" not in str(caught.value)
        assert got == here(model, tasks)
        assert not workers()

    @pytest.mark.acceptance
    def test_ctrl_c_stops_the_workers(self, model):
        results = score_in_processes(ModelSource(model, OPTIONS), tasks_of(2000), 2, silent)
        next(results)
        started = workers()
        assert started
        with pytest.raises(KeyboardInterrupt):
            results.throw(KeyboardInterrupt)
        assert not any(p.is_running() for p in started)

    @pytest.mark.acceptance
    def test_workers_end_with_a_parent_that_was_killed(self, model, tmp_path):
        script = tmp_path / "run.py"
        script.write_text(
            "from polyprobe.eval.work.workers.processes import score_in_processes\n"
            "from tests.eval.tasks import OPTIONS, silent, tasks_of\n"
            "from polyprobe.scoring.load import ModelSource as Source\n"
            f"for _ in score_in_processes(Source({model!r}, OPTIONS), tasks_of(2000), 2, silent):\n"
            "    print('one', flush=True)\n"
            "    input()\n"  # there is work left when it is killed
        )
        root = str(Path(__file__).parents[2])
        run = subprocess.Popen(
            [sys.executable, script],
            env={**os.environ, "PYTHONPATH": root},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert run.stdout.readline() == b"one\n"
        started = psutil.Process(run.pid).children(recursive=True)
        assert len([p for p in started if "--multiprocessing-fork" in command_of(p)]) == 2
        run.kill()
        run.communicate()
        _, alive = psutil.wait_procs(started, timeout=PATIENCE)
        assert not alive


class Deadly:
    def __reduce__(self):
        return os._exit, (7,)


class TestDevices:
    @pytest.mark.slow
    @pytest.mark.acceptance
    def test_processes_that_cannot_run_are_started_three_times_again(self, monkeypatch):
        calls = []

        class Counted(processes.Process):
            def start(self):
                calls.append(1)
                super().start()

        monkeypatch.setattr(processes, "Process", Counted)
        results = score_in_processes(ModelSource(Deadly(), OPTIONS), tasks_of(2), 1, silent)
        with pytest.raises(PolyprobeError, match=r"each time they are started \(exit status 7\)"):
            next(results)
        assert calls == [1] * 4
        assert not workers()

    @pytest.mark.parametrize(
        ("device", "n", "message"),
        [
            ("cpu", 10**6, "--devices 1000000 is more than this machine's"),
            ("cpu:0", 2, "--device cpu:0 is a single device, .* use --device cpu$"),
        ],
    )
    def test_a_number_or_device_that_cannot_be_is_refused(self, device, n, message):
        results = score_in_processes(
            ModelSource("m", ScorerOptions(device=device)), tasks_of(2), n, silent
        )
        with pytest.raises(PolyprobeError, match=message):
            next(results)

    def test_more_devices_than_there_are_are_refused(self, monkeypatch):
        monkeypatch.setattr(processes, "choose_device", lambda name: torch.device("cuda"))
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
        results = score_in_processes(
            ModelSource("m", ScorerOptions(device="cuda")), tasks_of(4), 3, silent
        )
        with pytest.raises(PolyprobeError, match=r"--devices 3 is more .*: 2 of kind 'cuda'; use"):
            next(results)

    def test_each_process_has_a_device_of_its_own(self, monkeypatch):
        monkeypatch.setattr(processes, "choose_device", lambda name: torch.device("cuda"))
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: 3)
        monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
        made = []

        class Noted(processes.Process):
            def __init__(self, source, threads):
                made.append(source.options.device)

            def end(self):
                pass

        monkeypatch.setattr(processes, "Process", Noted)
        monkeypatch.setattr(processes, "_collect", lambda *_: iter(()))
        assert (
            list(
                score_in_processes(
                    ModelSource("m", ScorerOptions(device="cuda")), tasks_of(4), 3, silent
                )
            )
            == []
        )
        assert made == ["cuda:0", "cuda:1", "cuda:2"]

    def test_a_number_of_threads_is_that_of_all_processes(self, monkeypatch):
        """This one, those of --devices, workers on Ray; afterwards all is as before."""
        before = torch.get_num_threads()
        for given in (None, "3"):
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
            if given:
                monkeypatch.setenv("OMP_NUM_THREADS", given)
            with limit_threads(before + 1), processes._environment(1):
                assert torch.get_num_threads() == before + 1
                assert os.environ["OMP_NUM_THREADS"] == str(before + 1)
                nodes = [{"Alive": True, "Resources": {"CPU": 64.0}}]
                assert ray_cluster._share_nodes(nodes, "cpu").cpus == before + 1
            assert os.environ.get("OMP_NUM_THREADS") == given
            assert torch.get_num_threads() == before

    def test_an_evaluation_uses_its_number_of_threads(self, model, monkeypatch, tmp_path):
        used = set()
        run = Engine.run

        def noted(*rest):
            used.add(torch.get_num_threads())
            return run(*rest)

        monkeypatch.setattr(Engine, "run", noted)
        before = torch.get_num_threads()
        facts = write_facts(tmp_path / "facts")
        evaluate_model(model, facts, languages="en", threads=before + 2, output=tmp_path / "run")
        assert used == {before + 2}
        assert torch.get_num_threads() == before

    def test_no_task_starts_no_process(self, monkeypatch):
        monkeypatch.setattr(processes, "Process", None)
        assert list(score_in_processes(ModelSource("m", OPTIONS), [], 2, silent)) == []
