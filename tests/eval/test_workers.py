"""Tasks scored in this process; what workers elsewhere need, before one is started."""

import os
import sys
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest
import torch

from polyprobe.eval import evaluate_model
from polyprobe.eval.work import fill
from polyprobe.eval.work.workers import Task, ray_cluster, score_here
from polyprobe.eval.work.workers.ray_cluster import score_on_ray
from polyprobe.scoring import load as loading
from polyprobe.scoring.engine import Engine
from polyprobe.scoring.load import ModelSource
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.devices import limit_threads
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import OPTIONS, needs_ray, silent, tasks_of, use_crew_here
from tests.making.facts import write_facts
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


@needs_ray
class TestDevices:
    @pytest.mark.parametrize("options", [{"devices": 2}, {"ray": "auto"}])
    def test_without_ray_the_extra_is_named(self, options, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[ray\]'$"):
            evaluate_model("geolm", "geofacts", **options)

    @pytest.mark.parametrize(
        ("device", "message"),
        [
            ("cpu", "--devices 5 is more than this machine's 4 cores, .* use --devices 4 at most$"),
            ("cpu:0", "--device cpu:0 is a single device, .* use --device cpu$"),
        ],
    )
    def test_a_number_or_device_that_cannot_be_is_refused(self, device, message, monkeypatch):
        monkeypatch.setattr(os, "cpu_count", lambda: 4)
        with pytest.raises(PolyprobeError, match=message):
            evaluate_model("geolm", "geofacts", device=device, devices=5)

    def test_more_devices_than_there_are_are_refused(self, monkeypatch):
        monkeypatch.setattr(ray_cluster, "choose_device", torch.device)
        monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
        with pytest.raises(PolyprobeError, match=r"--devices 3 is more .*: 2 of kind 'cuda'; use"):
            evaluate_model("geolm", "geofacts", device="cuda", devices=3)

    def test_devices_that_ray_does_not_divide_are_refused(self):
        source = ModelSource("m", ScorerOptions(device="mps"))
        with pytest.raises(PolyprobeError, match="accept --device cpu, cuda and xpu, got 'mps'"):
            next(score_on_ray(source, "auto", 1, tasks_of(1), silent))

    def test_each_worker_has_a_device_of_its_own(self):
        assert ray_cluster._share_machine("cuda", 3)[1:] == (1, 1, 3)
        assert ray_cluster._share_machine("cpu", 2)[1:] == (1, 0, 2)

    def test_cores_are_shared_unless_a_number_of_threads_is_set(self, monkeypatch):
        """Torch has as many threads as cores; afterwards all is as before."""
        before = torch.get_num_threads()
        monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        assert [ray_cluster._share_machine("cpu", n).threads for n in (2, 3, 16)] == [4, 2, 1]
        monkeypatch.undo()
        for setting in (None, "3"):
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
            if setting:
                monkeypatch.setenv("OMP_NUM_THREADS", setting)
            with limit_threads(before + 1):
                assert torch.get_num_threads() == before + 1
                assert ray_cluster._share_machine("cpu", 2).threads == before + 1
                nodes = [{"Alive": True, "Resources": {"CPU": 64.0}}]
                assert ray_cluster._share_nodes(nodes, "cpu").threads == before + 1
            assert os.environ.get("OMP_NUM_THREADS") == setting
            assert torch.get_num_threads() == before

    def test_an_evaluation_uses_its_number_of_threads(self, monkeypatch, tmp_path):
        used = set()
        run = Engine.run

        def noted(*rest):
            used.add(torch.get_num_threads())
            return run(*rest)

        monkeypatch.setattr(Engine, "run", noted)
        before = torch.get_num_threads()
        facts = write_facts(tmp_path / "facts")
        evaluate_model("geolm", facts, languages="en", threads=before + 2, output=tmp_path / "run")
        assert used == {before + 2}
        assert torch.get_num_threads() == before

    def test_no_task_starts_no_worker(self, monkeypatch):
        monkeypatch.setattr(ray_cluster, "connected", None)
        assert list(score_on_ray(ModelSource("m", OPTIONS), "local", 2, [], silent)) == []

    def test_workers_alone_load_the_model(self, monkeypatch, tmp_path):
        loads = []
        load = loading.load
        monkeypatch.setattr(loading, "load", lambda *words: loads.append(words) or load(*words))
        monkeypatch.setattr(fill, "load", None)
        use_crew_here(monkeypatch)
        facts = write_facts(tmp_path / "facts")
        evaluate_model("geolm", facts, cache=False, output=tmp_path / "run", devices=2)
        assert len(loads) == 1
