"""Workers on Ray give the scores of one process, even if one is killed, alone or with its node."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from polyprobe.eval.work.workers import Task, ray_cluster
from polyprobe.eval.work.workers.ray_cluster import Crew, RayWorker, score_on_ray
from polyprobe.schema.run.settings import versions
from polyprobe.scoring.load import ModelSource
from polyprobe.scoring.options import ScorerOptions
from polyprobe.system.messages import PolyprobeError
from tests.eval.tasks import OPTIONS, command_of, here, needs_ray, silent, tasks_of
from tests.making.tiny import save_model
from tests.making.waiting import PATIENCE, wait_until

MEMORY = 80 * 2**20
ROOT = Path(__file__).parents[2]


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
    @needs_ray
    def test_an_address_where_nobody_is_ends_in_one_line(self, free_port):
        for address in (f"127.0.0.1:{free_port}", "nonsense", "127.0.0.1:99999999"):
            with pytest.raises(PolyprobeError, match=f"no Ray cluster answers at '{address}'"):
                next(score_on_ray(ModelSource("m", OPTIONS), address, 1, tasks_of(1), silent))

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
            (nodes({"CPU": 16.0}), "cpu", None, (4, 4, 0, 4)),
            (nodes({"CPU": 16.0}, {"CPU": 6.0}), "cpu", None, (4, 4, 0, 4 + 1)),
            (nodes({"CPU": 16.0}, {"CPU": 2.0}), "cpu", None, (2, 2, 0, 8 + 1)),
            (nodes({"CPU": 16.0}, {"memory": 1.0}), "cpu", None, (4, 4, 0, 4)),
            (nodes({"CPU": 16.0}, {"CPU": 8.0}), "cpu", "8", (8, 8, 0, 2 + 1)),
            (nodes({"CPU": 1.0}, {"CPU": 1.0}), "cpu", "1", (1, 1, 0, 2)),
            (nodes({"CPU": 4.0}), "cpu", "0", (1, 1, 0, 4)),
            (nodes({"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0}), "cuda", None, (1, 1, 1, 2)),
            (nodes({"CPU": 8.0, "GPU": 2.0}), "cpu", None, (4, 4, 0, 2)),
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
            (nodes({"CPU": 0.0}, {}), "cpu", "no node of the Ray cluster has a CPU"),
            ([{"Alive": False, "Resources": {"CPU": 8.0}}], "cpu", "no node .* has a CPU"),
        ],
    )
    def test_a_cluster_without_what_is_asked_for_is_refused(self, cluster, device, message):
        with pytest.raises(PolyprobeError, match=message):
            ray_cluster._share_nodes(cluster, device)


class TestWorker:
    def test_scores_are_the_scorers_own(self, model):
        worker, source = RayWorker(1, versions()), ModelSource(model, OPTIONS)
        tasks = tasks_of(2)
        assert {x.number: worker.score(source, x)[1] for x in tasks} == here(model, tasks)

    def test_another_version_is_named_with_both(self, model):
        expected = {**versions(), "transformers": "0.1"}
        found = versions()["transformers"]
        message = f"has transformers {found}, this machine has 0.1; install"
        with pytest.raises(PolyprobeError, match=message):
            RayWorker(1, expected).describe(ModelSource(model, OPTIONS))

    def test_a_model_that_is_not_on_the_node_is_named_with_the_node(self, tmp_path):
        source = ModelSource(f"{tmp_path}/not-there.gguf", ScorerOptions(), {"path": "tree"})
        with pytest.raises(PolyprobeError, match=r"^in a worker on \S+: .*there\.gguf"):
            RayWorker(1, versions()).score(source, tasks_of(1)[0])

    def test_other_weights_than_expected_are_refused(self, model):
        source = ModelSource(model, OPTIONS, {"revision": "other", "path": "tree"})
        with pytest.raises(
            PolyprobeError, match=r"^in a worker on .* another revision here .*other"
        ):
            RayWorker(1, versions()).score(source, tasks_of(1)[0])


def test_a_cluster_without_room_is_not_waited_for_without_end():
    kind = SimpleNamespace(
        remote=lambda *_: SimpleNamespace(__ray_ready__=SimpleNamespace(remote=lambda: None))
    )
    ray = SimpleNamespace(
        wait=lambda references, timeout: ([], references),
        remote=lambda _: SimpleNamespace(options=lambda **_: kind),
    )
    crew = Crew(ray, ModelSource("m", OPTIONS), ray_cluster.Share(1, 1, 0, 1))
    with pytest.raises(PolyprobeError, match=r"had room for a worker in 300 seconds; see `ray st"):
        crew.describe()


@pytest.fixture(scope="class")
def short_folder():
    with pytest.MonkeyPatch.context() as patch:
        folder = tempfile.mkdtemp(prefix="pp-", dir="/tmp")
        patch.setenv("RAY_TMPDIR", folder)
        patch.setenv("RAY_worker_niceness", "0")
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


class Deadly:
    """Ends the process that receives it; a file has a line for each."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"echo one >> {self.file}; kill -9 $PPID",)


def scoring_processes(parent=None):
    found = psutil.Process(parent).children(recursive=True)
    return [p for p in found if any("RayWorker" in part for part in command_of(p))]


def list_two_workers(parent=None):
    processes = scoring_processes(parent)
    return processes if len(processes) == 2 else []


def list_others(processes):
    return [x for x in scoring_processes() if x not in processes]


def list_ended(processes):
    return [x for x in processes if not x.is_running()]


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
class TestCluster:
    def test_a_mistake_in_a_task_comes_in_one_line_and_ends_the_workers(self, model, cluster):
        import ray

        bad = Task(30, "ja", ["no slot here"], [["a", "b"]])
        tasks, got = tasks_of(30), {}
        source = ModelSource(model, OPTIONS)
        results = score_on_ray(source, cluster.address, 1, [*tasks, bad], silent)
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

    def test_one_that_dies_each_time_is_replaced_so_often(
        self, cluster, monkeypatch, tmp_path, capfd
    ):
        monkeypatch.setattr(ray_cluster, "RESTARTS", 1)
        source = ModelSource(Deadly(tmp_path / "starts"), OPTIONS)
        results = score_on_ray(source, cluster.address, 1, tasks_of(1), silent)
        with pytest.raises(PolyprobeError, match="^a worker on Ray died .* run the") as caught:
            next(results)
        assert "\n" not in str(caught.value)
        assert capfd.readouterr().out == ""  # where a user's results go
        assert (tmp_path / "starts").read_text() == "one\n" * 2

    def test_one_killed_alone_and_one_with_its_node_do_not_change_scores(self, model, cluster):
        tasks, seen, got = tasks_of(60, rows=12), {}, {}

        def progress(task, done, total):
            seen[task.number] = (done, total)

        source = ModelSource(model, OPTIONS)
        for task, scored in score_on_ray(source, cluster.address, 1, tasks, progress):
            got[task.number] = scored
            if len(got) == 20:
                first, second = wait_until(list_two_workers)
                first.kill()
                wait_until(partial(list_others, [first, second]))
                workers = wait_until(list_two_workers)
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
                wait_until(partial(list_ended, workers))
                assert len(list_ended(workers)) == 1
        assert got == here(model, tasks)
        assert sorted(seen) == list(range(60))
        assert all(done == total > 0 for done, total in seen.values())


@needs_ray
@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_a_run_that_is_stopped(end, model, short_folder, tmp_path):
    """Two devices of this machine; a run that can still act removes the folder of its cluster."""
    own, script = Path(short_folder) / end.name, tmp_path / "run.py"
    own.mkdir()
    script.write_text(
        "import signal\n"
        "from contextlib import closing\n"
        "from polyprobe.eval.work.workers.ray_cluster import score_on_ray\n"
        "from polyprobe.scoring.load import ModelSource as Source\n"
        "from tests.eval.tasks import OPTIONS, silent, tasks_of\n"
        f"asked = Source({model!r}, OPTIONS), 'local', 2, tasks_of(100), silent\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job of a shell ignores it
        "with closing(score_on_ray(*asked)) as results:\n"
        "    for task, scored in results:\n"
        "        print('one', flush=True)\n"
        "        input()\n"  # there is work left when it is stopped
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(own)}
    command, pipe = [sys.executable, script], subprocess.PIPE
    with (
        (tmp_path / "errors").open("w") as errors,  # Ray's helpers would hold a pipe for a minute
        subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=errors) as run,
    ):
        assert run.stdout.readline() == b"one\n"
        workers = wait_until(partial(list_two_workers, run.pid))
        run.send_signal(end)
        assert run.wait(PATIENCE) == (1 if end == signal.SIGINT else -end)
    assert not psutil.wait_procs(workers, timeout=PATIENCE)[1]
    lines = (tmp_path / "errors").read_text().splitlines()
    if end == signal.SIGINT:
        assert lines[-1] == "KeyboardInterrupt"
        assert lines.count("Traceback (most recent call last):") == 1  # of the script
        assert not [*own.iterdir()]
