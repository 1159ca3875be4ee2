"""A Ray cluster gives the scores of one process, even if a node is killed."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from polyprobe.eval.work.score_store import list_stores
from polyprobe.eval.work.workers import Task, ray_cluster
from polyprobe.eval.work.workers.ray_cluster import RayWorker, Share, score_on_ray
from polyprobe.schema.run.settings import versions
from polyprobe.scoring.load import ModelSource
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import OPTIONS, command_of, here, silent, tasks_of
from tests.hub.client import POLYPROBE
from tests.making.tiny import save_model
from tests.making.waiting import PATIENCE, wait_until

needs_ray = pytest.mark.skipif(not find_spec("ray"), reason="needs Ray (pip install ray)")
MEMORY = 80 * 2**20


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_model("llama", tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]  # bound, but not listening


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


class TestConnection:
    def test_without_ray_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[ray\]'$"):
            next(score_on_ray(ModelSource("m", OPTIONS), tasks_of(1), "auto", silent))

    @needs_ray
    def test_an_address_where_nobody_is_ends_in_one_line(self, free_port):
        for address in (f"127.0.0.1:{free_port}", "nonsense", "127.0.0.1:99999999"):
            with pytest.raises(PolyprobeError, match=f"no Ray cluster answers at '{address}'"):
                next(score_on_ray(ModelSource("m", OPTIONS), tasks_of(1), address, silent))

    def test_auto_takes_the_cluster_that_answers(self, monkeypatch, tmp_path, listener, free_port):
        note = tmp_path / "ray" / "ray_current_cluster"
        note.parent.mkdir()
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        note.write_text(listener + "\n")
        assert ray_cluster._find_cluster("auto") == listener
        note.write_text(f"127.0.0.1:{free_port}")  # of a cluster that was killed
        assert ray_cluster._find_cluster("auto") != f"127.0.0.1:{free_port}"
        monkeypatch.setenv("RAY_ADDRESS", listener)
        assert ray_cluster._find_cluster("auto") == listener
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port}")
        with pytest.raises(PolyprobeError, match="no Ray cluster answers"):
            ray_cluster._find_cluster("auto")
        assert ray_cluster._find_cluster("local") is None


def nodes(*resources):
    return [{"Alive": True, "Resources": has} for has in resources]


class TestShares:
    @pytest.mark.parametrize(
        ("cluster", "device", "threads", "share"),
        [
            (nodes({"CPU": 16.0}), "auto", None, ("cpu", 4, 0, 4)),
            (nodes({"CPU": 16.0}, {"CPU": 6.0}), "cpu", None, ("cpu", 4, 0, 4 + 1)),
            (nodes({"CPU": 16.0}, {"CPU": 2.0}), "cpu", None, ("cpu", 2, 0, 8 + 1)),
            (nodes({"CPU": 16.0}, {"memory": 1.0}), "cpu", None, ("cpu", 4, 0, 4)),
            (nodes({"CPU": 16.0}, {"CPU": 8.0}), "cpu", "8", ("cpu", 8, 0, 2 + 1)),
            (nodes({"CPU": 1.0}, {"CPU": 1.0}), "auto", "1", ("cpu", 1, 0, 2)),
            (nodes({"CPU": 4.0}), "auto", "0", ("cpu", 1, 0, 4)),
            (nodes({"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0}), "auto", None, ("cuda", 1, 1, 2)),
            (nodes({"CPU": 8.0, "GPU": 2.0}), "cpu", None, ("cpu", 4, 0, 2)),
        ],
    )
    def test_a_worker_has_a_gpu_or_some_cpus(self, cluster, device, threads, share, monkeypatch):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        if threads:
            monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert ray_cluster._share_nodes(cluster, device) == share

    @pytest.mark.parametrize(
        ("cluster", "device", "message"),
        [
            (nodes({"CPU": 8.0}), "cuda", "no node of the Ray cluster has a GPU; use --device cpu"),
            (nodes({"CPU": 0.0}, {}), "auto", "no node of the Ray cluster has a CPU"),
            ([{"Alive": False, "Resources": {"CPU": 8.0}}], "auto", "no node .* has a CPU"),
            (nodes({"CPU": 8.0}), "mps", "--ray accepts --device auto, cpu and cuda, got 'mps'"),
            (nodes({"CPU": 8.0}), "cuda:1", "got 'cuda:1'"),
        ],
    )
    def test_a_cluster_without_what_is_asked_for_is_refused(self, cluster, device, message):
        with pytest.raises(PolyprobeError, match=message):
            ray_cluster._share_nodes(cluster, device)


class TestWorker:
    def test_scores_are_the_scorers_own(self, model):
        worker = RayWorker(ModelSource(model, OPTIONS), 1, versions())
        tasks = tasks_of(2)
        assert dict(worker.score_numbered(task) for task in tasks) == here(model, tasks)

    def test_another_version_is_named_with_both(self, model):
        expected = {**versions(), "transformers": "0.1"}
        found = versions()["transformers"]
        message = f"has transformers {found}, this machine has 0.1; install"
        with pytest.raises(PolyprobeError, match=message):
            RayWorker(ModelSource(model, OPTIONS), 1, expected).load()

    def test_a_model_that_is_not_on_the_node_is_named_with_the_node(self, tmp_path):
        worker = RayWorker(
            ModelSource(f"{tmp_path}/not-there.gguf", ScorerOptions()), 1, versions()
        )
        with pytest.raises(PolyprobeError, match=r"^on node \S+ of the Ray cluster: .*there\.gguf"):
            worker.score_numbered(tasks_of(1)[0])

    def test_other_weights_than_expected_are_refused(self, model):
        source = ModelSource(model, OPTIONS, {"revision": "other", "path": "tree"})
        with pytest.raises(PolyprobeError, match=r"^on node .* has another revision here .*other"):
            RayWorker(source, 1, versions()).score_numbered(tasks_of(1)[0])


class LostError(Exception):
    """Raised by Ray if a worker is lost."""


class MistakenError(LostError):
    def __init__(self, cause):
        self.cause = cause


class TestErrors:
    def next_result(self, error):
        class Pool:
            def get_next_unordered(self, timeout):
                raise error

        ray = SimpleNamespace(exceptions=SimpleNamespace(RayError=LostError))
        return ray_cluster._next_result(ray, Pool())

    def test_a_mistake_of_the_user_is_raised_as_it_is(self):
        with pytest.raises(PolyprobeError, match="^language 'en': no slot$"):
            self.next_result(MistakenError(PolyprobeError("language 'en': no slot")))

    def test_another_error_keeps_its_traceback(self):
        with pytest.raises(MistakenError):
            self.next_result(MistakenError(ValueError("a bug")))

    def test_a_worker_that_dies_again_and_again_is_one_line(self):
        message = (
            r"^a worker on Ray died 4 times \(killed by the system\); "
            r"it may be out of memory: use a"
        )
        with pytest.raises(PolyprobeError, match=message) as caught:
            self.next_result(LostError("killed by\nthe system"))
        assert "\n" not in str(caught.value)

    def test_a_lost_node_is_noticed_while_nothing_comes(self, monkeypatch):
        def answers(ray):
            looked.append(ray)
            return len(looked) < 3

        looked, error = [], TimeoutError("nothing yet")
        monkeypatch.setattr(ray_cluster, "_node_answers", answers)
        with pytest.raises(ray_cluster.NodeLostError):
            self.next_result(error)
        assert len(looked) == 3
        with pytest.raises(ray_cluster.NodeLostError):  # the worker's end comes first
            self.next_result(LostError("the actor died"))

    def test_a_cluster_without_room_is_not_waited_for_without_end(self, monkeypatch):
        ray = SimpleNamespace(wait=lambda references, timeout: ([], references))
        monkeypatch.setattr(ray_cluster, "ROOM_SECONDS", 0.0)
        actor = SimpleNamespace(place=SimpleNamespace(remote=lambda: None))
        with pytest.raises(PolyprobeError, match=r"had room for a worker \(1 CPUs, 0 GPUs\)"):
            ray_cluster._await_room(ray, [actor], Share("cpu", 1, 0, 1))


@pytest.fixture(scope="class")
def short_folder():
    with pytest.MonkeyPatch.context() as patch:
        folder = tempfile.mkdtemp(prefix="pp-", dir="/tmp")
        patch.setenv("RAY_TMPDIR", folder)
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="class")
def cluster(short_folder):
    from ray.cluster_utils import Cluster

    asked = {
        "num_cpus": 1,
        "object_store_memory": MEMORY,
        "include_dashboard": False,
        "dashboard_agent_listen_port": 0,
    }
    made = Cluster()
    made.add_node(**asked)
    made.add_node(**asked)
    yield made
    made.shutdown()


def scoring_processes():
    found = psutil.Process().children(recursive=True)
    return [p for p in found if any("RayWorker" in part for part in command_of(p))]


def list_two_workers():
    processes = scoring_processes()
    return processes if len(processes) == 2 else []


def list_others(processes):
    return [x for x in scoring_processes() if x not in processes]


def list_ended(processes):
    return [x for x in processes if not x.is_running()]


@needs_ray
@pytest.mark.slow
class TestCluster:
    @pytest.mark.acceptance
    def test_a_mistake_in_a_task_comes_in_one_line_and_ends_the_workers(self, model, cluster):
        import ray

        bad = Task(30, "ja", ["no slot here"], [["a", "b"]])
        tasks, got = tasks_of(30), {}
        results = score_on_ray(ModelSource(model, OPTIONS), [*tasks, bad], cluster.address, silent)
        first, scored = next(results)
        got[first.number] = scored
        started = scoring_processes()
        with pytest.raises(PolyprobeError, match=r"^language 'ja': .*no slot here") as caught:
            got.update((task.number, scored) for task, scored in results)
        assert "\n" not in str(caught.value)
        expected = here(model, tasks)
        assert got == {number: expected[number] for number in got}
        assert started
        assert not psutil.wait_procs(started, timeout=PATIENCE)[1]
        assert not ray.is_initialized()

    @pytest.mark.parametrize("lost", ["worker", "node"])  # the node last: it stays lost
    @pytest.mark.acceptance
    def test_one_killed_in_mid_run_gives_the_scores_of_one_process(self, lost, model, cluster):
        seen, got = {}, {}

        def progress(task, done, total):
            seen[task.number] = (done, total)

        tasks, started = tasks_of(300, rows=12), []
        for task, scored in score_on_ray(
            ModelSource(model, OPTIONS), tasks, cluster.address, progress
        ):
            got[task.number] = scored
            if not started and len(got) >= 20:
                started = wait_until(list_two_workers)
                if lost == "worker":
                    started[0].kill()
                    wait_until(partial(list_others, started))
                else:
                    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
                    wait_until(partial(list_ended, started))
                    assert len(list_ended(started)) == 1
        assert len(started) == 2
        assert got == here(model, tasks)
        assert sorted(seen) == list(range(300))
        assert all(done == total > 0 for done, total in seen.values())


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
def test_the_loss_of_the_only_node_is_one_line_with_what_was_kept(tmp_path):
    """Ray itself prints the node's log, or waits; the next run scores the rest alone."""
    run, cache = tmp_path / "run", tmp_path / "cache"
    env = {**os.environ, "POLYPROBE_CACHE": str(cache)}
    command = [*POLYPROBE, "eval", "geolm", "--dataset", "geofacts", "--languages",
               "en,ru,el", "--output", str(run)]  # fmt: skip
    started = subprocess.Popen(
        [*command, "--ray", "local"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: sum(store.rows for store in list_stores(cache)))
    processes = psutil.Process(started.pid).children(recursive=True)
    workers = [x for x in processes if any("RayWorker" in word for word in command_of(x))]
    for worker in workers:  # so that work is left, however long the node takes to end
        with suppress(psutil.NoSuchProcess):  # Ray ends idle workers
            worker.suspend()
    for node in (x for x in processes if x.name() == "raylet"):
        node.kill()
    out, err = started.communicate(timeout=PATIENCE)
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill()
    assert started.returncode == 1
    assert b"raylet" not in out + err
    kept = re.fullmatch(
        r"error: this machine's node of the Ray cluster has ended .*; the scores of ([\d,]+) of "
        r"([\d,]+) queries are kept: run the same command again",
        err.decode().strip().splitlines()[-1],
    )
    assert kept, err
    done, total = (int(number.replace(",", "")) for number in kept.groups())
    assert 0 < done < total
    [stored] = list_stores(cache)
    assert stored.rows == done
    subprocess.run(command, env=env, capture_output=True, check=True)
    assert len([*run.glob("scores/*.parquet")]) == 3


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
def test_a_cluster_that_was_started_here_ends_here(model, short_folder, monkeypatch):
    own = Path(short_folder) / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    tasks = tasks_of(100)
    before = psutil.Process().children(recursive=True)
    with closing(score_on_ray(ModelSource(model, OPTIONS), tasks, "local", silent)) as results:
        got = {task.number: scored for task, scored in (next(results), next(results))}
        started = [p for p in psutil.Process().children(recursive=True) if p not in before]
    expected = here(model, tasks)
    assert got == {number: expected[number] for number in got}
    assert started
    assert not psutil.wait_procs(started, timeout=PATIENCE)[1]
    assert not list(own.iterdir())
    assert os.environ.get("RAY_ADDRESS") is None
