"""What an attempt cannot do in a jail, tried from inside a real attempt; and what it still can."""

import ast
import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
import pytest_asyncio

import tutor
from tests.workers.jailed import ALL_TIERS, LOCKED, loads, processes_below, stage, tries
from tutor.sets import builtin_root

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = builtin_root()
PACKAGE = Path(tutor.__file__).parent
LIBC = "libc = ctypes.CDLL(None, use_errno=True)"
RAISE = "if {call} < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))"


@pytest_asyncio.fixture(params=LOCKED, scope="module", loop_scope="module")
async def locked(request):
    async with stage(request.param) as worker:
        yield worker


@pytest_asyncio.fixture(params=ALL_TIERS, scope="module", loop_scope="module")
async def limited(request):
    async with stage(request.param) as worker:
        yield worker


@pytest.fixture
def outside(tmp_path):
    """A file that the user could read and write."""
    path = tmp_path / "outside.txt"
    path.write_text("secret")
    return path


def syscall(number: int, *arguments: object) -> str:
    call = f"libc.syscall({', '.join(map(str, (number, *arguments)))})"
    return f"{LIBC}\n{RAISE.format(call=call)}"


READS = {
    "the folder of solutions": f"os.listdir({str(ROOT / 'solutions')!r})",
    "the folder of exercises": f"os.listdir({str(ROOT / 'exercises')!r})",
    "a reference by its path": f"Path({str(next((ROOT / 'solutions').rglob('reference.py')))!r}).read_bytes()",
    "an oracle by its path": f"Path({str(next((ROOT / 'exercises').rglob('oracle.py')))!r}).read_bytes()",
    "the user's home": f"os.listdir({str(Path.home())!r})",
    "the list of users": "Path('/etc/passwd').read_bytes()",
    "the tutor's environment": f"Path('/proc/{os.getpid()}/environ').read_bytes()",
    "the server's environment": "Path(f'/proc/{os.getppid()}/environ').read_bytes()",
    "the server's memory": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "the server's open files": "os.listdir(f'/proc/{os.getppid()}/fd')",
    "the list of processes": "os.listdir('/proc')",
    "folders of other runs": "os.listdir(Path.cwd().parent)",
    "what links in its own folder point at": "os.symlink('/etc/passwd', 'link'); open('link').read()",
    "the root through /proc": "os.listdir('/proc/self/root/etc')",
}


@pytest.mark.parametrize("what", READS)
async def test_what_it_cannot_read(locked, what):
    assert (await tries(locked, READS[what])).startswith("refused:")


CALLS = {
    "a TCP connection": "socket.create_connection(('127.0.0.1', 9), timeout=1)",
    "a TCP socket": "socket.socket(socket.AF_INET, socket.SOCK_STREAM)",
    "a UDP socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a raw socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "IPv6": "socket.socket(socket.AF_INET6)",
    "a UNIX socket": "socket.socket(socket.AF_UNIX)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "a virtual socket": "socket.socket(socket.AF_VSOCK)",
    "a pair of network sockets": "socket.socketpair(socket.AF_INET)",
    "a look at the server by signal": "os.kill(os.getppid(), 0)",
    "stopping the server": "os.kill(os.getppid(), signal.SIGSTOP)",
    "killing the group of the server": "os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)",
    "killing all": "os.kill(-1, signal.SIGKILL)",
    "signals by file": "import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
    "a handle on a process": "os.pidfd_open(os.getppid())",
    "outliving the server": f"{LIBC}\n{RAISE.format(call='libc.prctl(1, 0, 0, 0, 0)')}",
    "leaving the session": "os.setpgid(0, 0)",
    "the server's priority": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "the server's processors": "os.sched_setaffinity(os.getppid(), {0})",
    "the server's limits": "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "fork": "os.fork() or os._exit(0)",
    "vfork": syscall(58),
    "a process by clone": syscall(56, 17, 0, 0, 0, 0),
    "clone3": syscall(435, 0, 0),
    "a program": "subprocess.run([sys.executable, '-c', ''])",
    "a program in its place": f"os.execv({sys.executable!r}, [{sys.executable!r}, '-c', ''])",
    "a spawned program": "os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {})",
    "a pool of processes": "import multiprocessing; multiprocessing.Process(target=print).start()",
    "ptrace": syscall(101, 16, "os.getppid()", 0, 0),
    "reading the server's memory": syscall(310, "os.getppid()", 0, 0, 0, 0, 0),
    "namespaces": "os.unshare(os.CLONE_NEWUSER)",
    "a mount": syscall(165, 0, 0, 0, 0, 0),
    "chroot": "os.chroot('.')",
    "BPF": syscall(321, 0, 0, 0),
    "performance counters": syscall(298, 0, 0, -1, -1, 0),
    "the keyring": syscall(250, 0, -4, 0),
    "io_uring": syscall(425, 1, 0),
    "userfaultfd": syscall(323, 1),
    "files in memory": "os.memfd_create('hidden')",
    "shared memory of System V": syscall(29, 0, 4096, 0o1600),
    "the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "the other way of counting system calls": syscall(0x40000000 | 39),
    "another user": "os.setuid(65534)",
}


@pytest.mark.parametrize("what", CALLS)
async def test_what_it_cannot_call(locked, what):
    assert await tries(locked, CALLS[what]) in (
        "refused: Operation not permitted",
        "refused: Function not implemented",
    )


async def test_its_own_signals_and_limits_are_its_own(locked):
    code = """
        import resource
        signal.signal(signal.SIGUSR1, lambda *_: print("heard"))
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        a, b = socket.socketpair()
    """
    assert await tries(locked, code) == "heard\nheard\ndone"


WRITES = [
    "Path({outside!r}).write_text('changed')",
    "open({outside!r}, 'a')",
    "os.truncate({outside!r}, 0)",
    "os.chmod({outside!r}, 0)",
    "os.utime({outside!r}, (0, 0))",
    "os.setxattr({outside!r}, 'user.x', b'x')",
    "os.remove({outside!r})",
    "os.rename({outside!r}, 'taken')",
    "os.link({outside!r}, 'linked')",
    "Path({outside!r}).with_name('new.txt').write_text('new')",
    "Path({outside!r}).with_name('new').mkdir()",
    "os.mkfifo({outside!r} + '.fifo')",
    "Path({package!r}, '__pycache__', 'x').write_text('x')",
    "Path({package!r}, 'judge', 'x').write_text('x')",
    "Path(os.__file__).with_name('x.py').write_text('x')",
    "Path('/dev/shm/x').write_text('x')",
    "Path.cwd().parent.joinpath('x').write_text('x')",
    "Path('/x').write_text('x')",
    "Path('/etc/x').write_text('x')",
]


@pytest.mark.parametrize("code", WRITES)
async def test_where_it_cannot_write(locked, outside, code):
    before = outside.stat()
    assert (await tries(locked, code.format(outside=str(outside), package=str(PACKAGE)))).startswith("refused:")
    after = outside.stat()
    assert outside.read_text() == "secret"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert [path.name for path in outside.parent.iterdir()] == [outside.name]


async def test_what_a_run_still_may(locked):
    code = """
        import json, mmap, tempfile
        import jax, jax.numpy as jnp, numpy as np
        Path("own").mkdir(); Path("own/file").write_text("x"); Path("own/file").unlink()
        with tempfile.NamedTemporaryFile() as made: assert Path(made.name).is_relative_to(Path.cwd())
        assert Path.home() == Path.cwd()
        threads = [threading.Thread(target=lambda: None) for _ in range(40)]
        for t in threads: t.start()
        for t in threads: t.join()
        mmap.mmap(-1, 4096).close()
        with open("/dev/null", "w") as nothing: nothing.write("x")
        assert float(jnp.ones((4, 4)).sum()) == 16
        assert len(jax.devices()) == 8
        assert len(os.urandom(8)) == 8
        import decimal, sqlite3, xml.dom.minidom
        import scipy.special
    """
    assert await tries(locked, code) == "done"


async def test_nothing_of_the_tutor_is_in_its_environment_or_open(locked, monkeypatch):
    monkeypatch.setenv("SECRET", "no")
    code = """
        print(sorted(os.environ))
        print(len(os.listdir('/proc/self/fd')) <= 5)  # three, the pipe of answers, and the listing itself
        print(sys.stdin.read() == '')
        print(sys.flags.isolated, '' in sys.path, os.getcwd() in sys.path)
    """
    names, few, quiet, path, done = (await tries(locked, code)).splitlines()
    ours = {"HOME", "TMPDIR", "PATH", "PWD", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "OPENBLAS_NUM_THREADS"}
    set_by_jax = ("JAX_", "XLA_", "TPU_", "TF_", "MOSAIC_")
    assert {name for name in ast.literal_eval(names) if not name.startswith(set_by_jax)} <= ours
    assert (few, quiet, path, done) == ("True", "True", "1 False False", "done")


async def test_a_file_of_another_run_cannot_be_read(locked):
    """The first run stays until the second has looked; then it is ended from outside."""
    before = {*processes_below(locked._process.pid)}
    waits = "print(os.getcwd(), flush=True); Path('mine').write_text('secret'); time.sleep(600)"
    first = asyncio.create_task(loads(locked, f"import os, time\nfrom pathlib import Path\n{waits}"))
    while not (run := {pid for pid in processes_below(locked._process.pid) if has_written(pid)} - before):
        assert not first.done(), first.result()
        await asyncio.sleep(0.02)
    code = """
        homes = [p for p in Path(os.getcwd()).parent.glob('kerneltutor-*') if p != Path.cwd()]
        assert not homes
    """
    assert await tries(locked, code) == "done"
    [pid] = run
    os.kill(pid, signal.SIGKILL)
    ended = await first
    assert (ended.how, ended.detail) == ("signal", "SIGKILL")
    assert ended.printed.splitlines()[0].rpartition("/")[2].startswith("kerneltutor-")


def has_written(pid: int) -> bool:
    """Whether the file is there that the run writes into its own folder."""
    try:
        return Path(f"/proc/{pid}/cwd/mine").exists()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("code", "how", "limits"),
    [
        ("while True: open(str(time.time()), 'wb').write(bytes(1 << 20))", "disk", {"disk_bytes": 32 << 20}),
        ("n = 0\nwhile True: n += 1; os.mkdir(str(n))", "disk", {}),
        ("threading.stack_size(1 << 16)\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()", "threads",
         {"threads": 60}),
        ("x = []\nwhile True: x.append(bytearray(1 << 26))", "memory", {"data_bytes": 1 << 30}),
        ("import mmap\nx = []\nwhile True: x.append(mmap.mmap(-1, 1 << 24)); x[-1].write(b'1' * (1 << 24))", "memory",
         {"data_bytes": 1 << 30}),
        ("while True: print('x' * 10_000)", "wall", {"wall_seconds": 1.0}),
    ],
)  # fmt: skip
async def test_what_takes_too_much_is_stopped_and_the_next_run_goes_on(limited, code, how, limits):
    ended = await loads(limited, "import os, threading, time\n" + code, **limits)
    assert ended.how == how, ended
    following = await loads(limited, "print('next')", wall_seconds=20.0)
    assert following.printed == "next\n", "the next run must not wait"
