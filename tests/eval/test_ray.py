"""A Ray cluster gives the scores of one process, also when a node of it is killed."""

import os
import shutil
import socket
import socketserver
import sys
import tempfile
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from polyprobe.eval.work.tasks import Task
from polyprobe.eval.work.workers import ray_cluster, ray_connection, score_on_ray
from polyprobe.eval.work.workers.ray_worker import RayWorker, versions
from polyprobe.system.errors import PolyprobeError
from tests.eval.test_workers import OPTIONS, here, silent, tasks_of
from tests.eval.tiny import save_model

needs_ray = pytest.mark.skipif(not find_spec("ray"), reason="needs Ray (pip install ray)")
MEMORY = 80 * 2**20


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_model("llama", tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]  # bound, but nobody listens


@pytest.fixture
def listen():
    """Start servers that say one thing to each who comes, and return their addresses."""
    with ExitStack() as open_servers:

        def start(greeting):
            class Greet(socketserver.BaseRequestHandler):
                def handle(self):
                    self.request.recv(1000)
                    self.request.sendall(greeting)

            server = open_servers.enter_context(
                socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greet)
            )
            threading.Thread(target=server.serve_forever, args=(0.01,)).start()
            open_servers.callback(server.shutdown)
            return f"127.0.0.1:{server.server_address[1]}"

        yield start


# The empty SETTINGS frame with which every server of HTTP/2 begins.
HTTP2 = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HTTP1 = b"HTTP/1.1 400 Bad Request\r\n\r\n"


class TestConnection:
    def test_without_ray_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(PolyprobeError, match=r"pip install 'polyprobe\[ray\]'$"):
            next(score_on_ray("m", OPTIONS, tasks_of(1), "auto", silent))

    @needs_ray
    def test_an_address_where_nobody_is_ends_in_one_line(self, free_port):
        for address in (
            f"127.0.0.1:{free_port}",
            "nonsense",
            "127.0.0.1:port",
            "127.0.0.1:99999999",
        ):
            with pytest.raises(PolyprobeError, match=f"no Ray cluster answers at '{address}'"):
                next(score_on_ray("m", OPTIONS, tasks_of(1), address, silent))

    @needs_ray
    def test_a_server_that_is_no_cluster_is_not_waited_for(self, listen):
        """Such as Ray's own dashboard; `ray.init` would try for many minutes."""
        address = listen(HTTP1)
        with pytest.raises(PolyprobeError, match=f"no Ray cluster answers at '{address}'"):
            next(score_on_ray("m", OPTIONS, tasks_of(1), address, silent))

    def test_auto_takes_the_cluster_that_answers(self, monkeypatch, tmp_path, listen, free_port):
        listener = listen(HTTP2)
        note = tmp_path / "ray" / "ray_current_cluster"
        note.parent.mkdir()
        monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        note.write_text(listener + "\n")
        assert ray_connection._find_cluster("auto") == listener
        note.write_text(f"127.0.0.1:{free_port}")  # of a cluster that was killed
        assert ray_connection._find_cluster("auto") != f"127.0.0.1:{free_port}"
        monkeypatch.setenv("RAY_ADDRESS", listener)
        assert ray_connection._find_cluster("auto") == listener
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port}")
        with pytest.raises(PolyprobeError, match="no Ray cluster answers"):
            ray_connection._find_cluster("auto")
        assert ray_connection._find_cluster("local") is None


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
            (nodes({"CPU": 8.0}), "mps", "--ray knows --device auto, cpu and cuda, got 'mps'"),
            (nodes({"CPU": 8.0}), "cuda:1", "got 'cuda:1'"),
        ],
    )
    def test_a_cluster_without_what_is_asked_for_is_refused(self, cluster, device, message):
        with pytest.raises(PolyprobeError, match=message):
            ray_cluster._share_nodes(cluster, device)


class TestWorker:
    def test_scores_are_the_scorers_own(self, model):
        worker = RayWorker()
        worker.load(model, OPTIONS, 1, versions())
        tasks = tasks_of(2)
        got = {task.number: worker.score(task) for task in tasks}
        assert {number: scored for number, (scored, _) in got.items()} == here(model, tasks)
        assert all(total > 0 for _, total in got.values())

    def test_another_version_is_named_with_both(self, model):
        expected = {**versions(), "transformers": "0.1"}
        found = versions()["transformers"]
        with pytest.raises(PolyprobeError, match=f"has transformers {found}, here it is 0.1; inst"):
            RayWorker().load(model, OPTIONS, 1, expected)

    def test_a_model_that_is_not_on_the_node_is_named_with_the_node(self, tmp_path):
        with pytest.raises(PolyprobeError, match=r"^on node \S+ of the Ray cluster: .*there\.gguf"):
            RayWorker().load(f"{tmp_path}/not-there.gguf", {}, 1, versions())


class LostError(Exception):
    """What Ray raises where a worker is lost."""


class MistakenError(LostError):
    """What Ray raises where a method has raised something."""

    def __init__(self, cause):
        self.cause = cause


@dataclass(eq=False)
class Reference:
    """A call whose result is not there yet."""

    worker: int
    method: str
    arguments: tuple


class Fake:
    """A cluster in this process, whose workers do what a script says, one call after another.

    `act(worker, method, task)` returns a result, or raises LostError to be lost; workers have
    numbers in the order they were made.
    """

    exceptions = SimpleNamespace(RayError=LostError)

    def __init__(self, act):
        self.act, self.made, self.killed, self.most = act, 0, set(), 0

    def remote(self, kind):
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self.make))

    def make(self):
        number, self.made = self.made, self.made + 1

        def method(name):
            return SimpleNamespace(remote=lambda *args: Reference(number, name, args))

        return SimpleNamespace(number=number, **{m: method(m) for m in ("place", "load", "score")})

    def put(self, task):
        return task.number

    def kill(self, handle):
        self.killed.add(handle.number)

    def wait(self, references, num_returns=1, timeout=None):
        at_work = [r.worker for r in references if r.method == "score"]
        self.most = max([self.most, *map(at_work.count, at_work)])
        return references[:1], references[1:]

    def get(self, reference):
        if reference.worker in self.killed:
            raise LostError("dead already")
        task = reference.arguments[0] if reference.method == "score" else None
        return self.act(reference.worker, reference.method, task)


def run_team(act, n_tasks, size=2):
    """Return a fake cluster, and the results of a run on it."""
    fake = Fake(act)
    team = ray_cluster.Team(fake, ray_cluster.Share("cpu", 1, 0, size), "m", {})
    team.grow(size)
    return fake, team.score([Task(k, "en", [f"p{k}"], [["a"]]) for k in range(n_tasks)])


def numbered(worker, method, task):
    return (f"scores of {task}", 1)


class TestTeam:
    def test_every_task_is_scored_once_and_no_worker_has_more_than_two(self):
        fake, results = run_team(numbered, 20)
        got = [(task.number, scored) for task, scored, _ in results]
        assert sorted(got) == [(k, f"scores of {k}") for k in range(20)]
        assert fake.most == 2

    def test_what_a_lost_worker_had_is_scored_by_one_in_its_place(self):
        calls = []

        def act(worker, method, task):
            calls.append((worker, method))
            if worker == 0 and calls.count((0, "score")) == 2:
                raise LostError("gone")
            return numbered(worker, method, task)

        fake, results = run_team(act, 20)
        assert sorted(task.number for task, *_ in results) == list(range(20))
        assert fake.made == 3
        assert fake.killed == {0}
        assert (2, "load") in calls

    def test_a_task_that_kills_three_workers_is_named(self):
        def act(worker, method, task):
            if task == 3:
                raise LostError("killed by\nthe system")
            return numbered(worker, method, task)

        fake, results = run_team(act, 4, size=1)
        got = []
        with pytest.raises(PolyprobeError) as caught:
            got.extend(task.number for task, *_ in results)
        assert str(caught.value).startswith(
            "language 'en': the 1 rows from 'p3' on have killed their worker 3 times "
            "(killed by the system); memory"
        )
        assert got == [0, 1, 2]
        assert fake.made == 3

    def test_workers_that_never_have_the_model_end_the_run(self):
        def act(worker, method, task):
            if method == "load":
                raise LostError("no memory")

        fake, results = run_team(act, 4)
        with pytest.raises(PolyprobeError, match=r"lost while they load the model \(no memory\)"):
            next(results)
        assert fake.made == 2 + 3

    def test_a_mistake_of_the_user_is_raised_as_it_is(self):
        def act(worker, method, task):
            if task == 2:
                raise MistakenError(PolyprobeError("language 'en': no slot"))
            return numbered(worker, method, task)

        _, results = run_team(act, 4, size=1)
        got = []
        with pytest.raises(PolyprobeError, match="^language 'en': no slot$"):
            got.extend(task.number for task, *_ in results)
        assert got == [0, 1]

    def test_a_cluster_without_room_is_not_waited_for_without_end(self, monkeypatch):
        monkeypatch.setattr(ray_cluster, "PLACING_SECONDS", 0.0)
        fake, results = run_team(numbered, 4)
        fake.wait = lambda references, **_: ([], references)
        with pytest.raises(PolyprobeError, match=r"had room for a worker \(1 CPUs, 0 GPUs\)"):
            next(results)


@pytest.fixture(scope="class")
def short_folder():
    """A folder for Ray, whose sockets bear no long path."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tempfile.mkdtemp(prefix="pp-", dir="/tmp")
        patch.setenv("RAY_TMPDIR", folder)
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="class")
def cluster(short_folder):
    """A cluster of two nodes on this machine, one CPU each."""
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
    """Return the workers of Ray that hold a `RayWorker`, among what this process has started."""
    found = psutil.Process().children(recursive=True)
    return [p for p in found if any("RayWorker" in part for part in p.cmdline())]


@needs_ray
@pytest.mark.slow
class TestCluster:
    def test_a_mistake_in_a_task_comes_in_one_line_and_ends_the_workers(self, model, cluster):
        import ray

        bad = Task(30, "ja", ["no slot here"], [["a", "b"]])
        tasks, got = tasks_of(30), {}
        results = score_on_ray(model, OPTIONS, [*tasks, bad], cluster.address, silent)
        first, scored = next(results)
        got[first.number] = scored
        started = scoring_processes()
        with pytest.raises(PolyprobeError, match=r"^language 'ja': .*no slot here") as caught:
            got.update((task.number, scored) for task, scored in results)
        assert "\n" not in str(caught.value)
        expected = here(model, tasks)
        assert got == {number: expected[number] for number in got}
        assert started
        assert not psutil.wait_procs(started, timeout=60)[1]
        assert not ray.is_initialized()

    def test_one_of_two_nodes_killed_in_mid_run_gives_the_scores_of_one(
        self, model, cluster, monkeypatch
    ):
        teams, lost, seen = [], [], {}

        class Watched(ray_cluster.Team):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                teams.append(self)

            def _lose(self, member, error):
                lost.append(len(member.tasks))
                return super()._lose(member, error)

        def progress(task, done, total):
            seen[task.number] = (done, total)

        monkeypatch.setattr(ray_cluster, "Team", Watched)
        tasks, got = tasks_of(300, rows=12), {}
        killed = False
        for task, scored in score_on_ray(model, OPTIONS, tasks, cluster.address, progress):
            got[task.number] = scored
            if not killed and all(member.tasks for member in teams[0].members):
                cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
                killed = True
        assert lost[0] > 0  # it was at work
        assert got == here(model, tasks)
        assert sorted(seen) == list(range(300))
        assert all(done == total > 0 for done, total in seen.values())


@needs_ray
@pytest.mark.slow
def test_a_cluster_that_was_started_here_ends_here(model, short_folder, monkeypatch):
    own = Path(short_folder) / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    tasks = tasks_of(100)
    before = psutil.Process().children(recursive=True)
    with closing(score_on_ray(model, OPTIONS, tasks, "local", silent)) as results:
        got = {task.number: scored for task, scored in (next(results), next(results))}
        started = [p for p in psutil.Process().children(recursive=True) if p not in before]
    expected = here(model, tasks)
    assert got == {number: expected[number] for number in got}
    assert started
    assert not psutil.wait_procs(started, timeout=60)[1]
    assert not list(own.iterdir())
    assert os.environ.get("RAY_ADDRESS") is None
