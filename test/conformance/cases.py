"""
The cases for the Python SDK, once for both of its faces: what is awaitable is awaited.

cases.py list        the names, one in a line; needs no SDK
cases.py sync|async  runs all, and prints one JSON object a line: name, and error where it failed
"""

import asyncio
import inspect
import json
import sys
import time
import traceback

CASES = []


def case(name):
    def add(run):
        CASES.append((name, run))
        return run

    return add


async def done(value):
    return await value if inspect.isawaitable(value) else value


async def eventually(check, patience=20):
    until = time.monotonic() + patience
    while not (found := await check()):
        assert time.monotonic() < until, f"still {found!r} after {patience} s"
        await asyncio.sleep(0.05)


async def raises(kind, call):
    """The call is made here, because the blocking face fails at once."""
    try:
        await done(call())
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


class Use:
    def __init__(self, is_async):
        import e2b

        self.e2b = e2b
        self.is_async = is_async
        self.Sandbox = e2b.AsyncSandbox if is_async else e2b.Sandbox
        self.made = []

    async def create(self, *args, **options):
        sandbox = await done(self.Sandbox.create(*args, **{"timeout": 600, **options}))
        self.made.append(sandbox)
        return sandbox

    async def run(self, command, sandbox=None, **options):
        return await done((sandbox or self.sandbox).commands.run(command, **options))

    async def end(self, sandboxes):
        for sandbox in sandboxes:
            await done(self.Sandbox.kill(sandbox.sandbox_id))


@case("a command's output and exit code come back")
async def _(use):
    result = await use.run("echo out; echo err >&2")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 0)


@case("a command that fails is an error with its code and output")
async def _(use):
    error = await raises(use.e2b.CommandExitException, lambda: use.sandbox.commands.run("echo before; exit 7"))
    assert (error.exit_code, error.stdout) == (7, "before\n")


@case("output is told while the command still runs")
async def _(use):
    pieces = []
    await use.run("echo one; sleep 0.5; echo two", on_stdout=lambda text: pieces.append((time.monotonic(), text)))
    assert "".join(text for _, text in pieces) == "one\ntwo\n"
    assert pieces[-1][0] - pieces[0][0] > 0.3


@case("variables, folder and user of a command are as asked for")
async def _(use):
    result = await use.run("echo $COLOUR $(pwd) $(whoami)", envs={"COLOUR": "blue"}, cwd="/usr", user="root")
    assert result.stdout == "blue /usr root\n"


@case("a folder that is not there is an invalid argument")
async def _(use):
    await raises(use.e2b.InvalidArgumentException, lambda: use.sandbox.commands.run("pwd", cwd="/not/there"))


@case("a user that is not there is refused")
async def _(use):
    await raises(use.e2b.AuthenticationException, lambda: use.sandbox.commands.run("id", user="nobody-here"))


@case("what is written to a command's input is read by it")
async def _(use):
    command = await use.run("read line; echo got $line", background=True, stdin=True)
    await done(use.sandbox.commands.send_stdin(command.pid, "it ✓\n"))
    assert (await done(command.wait())).stdout == "got it ✓\n"


@case("a background command is listed, and killed once")
async def _(use):
    command = await use.run("sleep 1234", background=True)
    assert command.pid in [one.pid for one in await done(use.sandbox.commands.list())]
    assert await done(command.kill()) is True
    await raises(use.e2b.CommandExitException, command.wait)

    async def is_gone():
        return await done(use.sandbox.commands.kill(command.pid)) is False

    await eventually(is_gone)


@case("a command goes on when its client lets go, and can be followed again")
async def _(use):
    begun = await use.run("read line; echo got $line", background=True, stdin=True, timeout=0)
    await done(begun.disconnect())
    again = await done(use.sandbox.commands.connect(begun.pid))
    await done(use.sandbox.commands.send_stdin(begun.pid, "it\n"))
    assert (await done(again.wait())).stdout == "got it\n"


@case("a command that takes longer than its time is ended")
async def _(use):
    await raises(use.e2b.TimeoutException, lambda: use.sandbox.commands.run("echo $$ > /tmp/slow; exec sleep 1234", timeout=1))

    async def is_gone():
        return (await use.run("kill -0 $(cat /tmp/slow) 2>/dev/null || echo gone")).stdout == "gone\n"

    await eventually(is_gone)


@case("two megabytes of output arrive whole")
async def _(use):
    assert len((await use.run("head -c 1572864 /dev/urandom | base64 -w 0")).stdout) == 2_097_152


@case("a terminal shows what is typed into it, and has a size")
async def _(use):
    size, data = use.e2b.PtySize(rows=33, cols=101), []
    if use.is_async:
        terminal = await use.sandbox.pty.create(size, on_data=lambda piece: data.append(piece))
    else:
        terminal = use.sandbox.pty.create(size)
    await done(use.sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 3\n"))
    if use.is_async:
        await raises(use.e2b.CommandExitException, terminal.wait)
    else:
        await raises(use.e2b.CommandExitException, lambda: terminal.wait(on_pty=lambda piece: data.append(piece)))
    assert b"33 101" in b"".join(bytes(piece) for piece in data)


@case("what is written is read again, as text and as bytes")
async def _(use):
    files = use.sandbox.files
    assert (await done(files.write("a/b.txt", "hello ✓"))).path == "/home/user/a/b.txt"
    assert await done(files.read("a/b.txt")) == "hello ✓"
    blob = bytes(range(256)) * 256
    await done(files.write("blob", blob))
    assert bytes(await done(files.read("blob", format="bytes"))) == blob


@case("several files are written with one call")
async def _(use):
    written = await done(use.sandbox.files.write_files([{"path": "m/a", "data": "A"}, {"path": "m/b/c", "data": "C"}]))
    assert [one.path for one in written] == ["/home/user/m/a", "/home/user/m/b/c"]
    assert (await use.run("cat m/a m/b/c")).stdout == "AC"


@case("a file can be streamed out")
async def _(use):
    await done(use.sandbox.files.write("long", "x" * 3_000_000))
    stream, size = await done(use.sandbox.files.read("long", format="stream")), 0
    if hasattr(stream, "__aiter__"):
        async for piece in stream:
            size += len(piece)
    else:
        size = sum(len(piece) for piece in stream)
    assert size == 3_000_000


@case("folders are made, listed, renamed and removed")
async def _(use):
    files = use.sandbox.files
    assert await done(files.make_dir("box/inner")) is True
    assert await done(files.make_dir("box/inner")) is False
    await done(files.write("box/file", "123"))
    entries = await done(files.list("box"))
    assert [(one.name, one.type.value) for one in entries] == [("file", "file"), ("inner", "dir")]
    assert (await done(files.rename("box", "crate"))).path == "/home/user/crate"
    assert await done(files.exists("box")) is False
    info = await done(files.get_info("crate/file"))
    assert (info.size, info.owner, info.permissions) == (3, "user", "-rw-r--r--")
    await done(files.remove("crate"))
    assert await done(files.exists("crate")) is False


@case("what is not there is an error of its own")
async def _(use):
    await raises(use.e2b.NotFoundException, lambda: use.sandbox.files.read("/not/there"))
    await raises(use.e2b.NotFoundException, lambda: use.sandbox.files.list("/not/there"))
    await raises(use.e2b.NotFoundException, lambda: use.sandbox.files.rename("/not/there", "/x"))


@case("what happens in a folder is told")
async def _(use):
    await done(use.sandbox.files.make_dir("seen"))
    events = []
    if use.is_async:
        watch = await use.sandbox.files.watch_dir("seen", on_event=events.append)
    else:
        watch = use.sandbox.files.watch_dir("seen")
    await done(use.sandbox.files.write("seen/file", "x"))

    async def is_told():
        if not use.is_async:
            events.extend(watch.get_new_events())
        return ("create", "file") in [(event.type.value, event.name) for event in events]

    await eventually(is_told)
    await done(watch.stop())


@case("a template that is not there is an error that names it")
async def _(use):
    error = await raises(Exception, lambda: use.Sandbox.create("no-such-template"))
    assert "no-such-template" in str(error), error


@case("its variables and metadata are kept, and it is found by them")
async def _(use):
    metadata = {"user id": "a=b&c", "mark": f"python-{use.is_async}-ü"}
    sandbox = await use.create(envs={"A": "sandbox"}, metadata=metadata)
    assert (await use.run("echo $A", sandbox)).stdout == "sandbox\n"
    assert (await done(sandbox.get_info())).metadata == metadata
    pages = use.Sandbox.list(query=use.e2b.SandboxQuery(metadata=metadata))
    assert [one.sandbox_id for one in await done(pages.next_items())] == [sandbox.sandbox_id]
    assert pages.has_next is False


@case("lists come in pages, each sandbox once")
async def _(use):
    metadata = {"mark": f"python-{use.is_async}-pages"}
    made = [(await use.create(metadata=metadata)).sandbox_id for _ in range(3)]
    pages, found = use.Sandbox.list(query=use.e2b.SandboxQuery(metadata=metadata), limit=2), []
    while pages.has_next:
        found += [one.sandbox_id for one in await done(pages.next_items())]
    assert found == made[::-1]


@case("how long it lives can be changed")
async def _(use):
    sandbox = await use.create(timeout=120)
    before = (await done(sandbox.get_info())).end_at
    await done(sandbox.set_timeout(600))
    assert 470 < ((await done(sandbox.get_info())).end_at - before).total_seconds() < 490


@case("another program connects to it and sees the same files")
async def _(use):
    await done(use.sandbox.files.write("shared", "by the first"))
    other = await done(use.Sandbox.connect(use.sandbox.sandbox_id))
    assert await done(other.files.read("shared")) == "by the first"


@case("a paused sandbox keeps its processes, and goes on where it was")
async def _(use):
    sandbox = await use.create()
    command = await use.run("sleep 1234", sandbox, background=True, timeout=0)
    await done(sandbox.pause() if hasattr(sandbox, "pause") else sandbox.beta_pause())
    assert (await done(use.Sandbox.get_info(sandbox.sandbox_id))).state.value == "paused"
    again = await done(use.Sandbox.connect(sandbox.sandbox_id))
    assert (await use.run(f"kill -0 {command.pid} && echo alive", again)).stdout == "alive\n"


@case("one that is killed is gone, and cannot be killed again")
async def _(use):
    sandbox = await use.create()
    assert await done(sandbox.is_running()) is True
    assert await done(sandbox.kill()) is True
    assert await done(sandbox.is_running()) is False
    assert await done(use.Sandbox.kill(sandbox.sandbox_id)) is False
    await raises(Exception, lambda: sandbox.commands.run("echo hi"))


@case("a wrong key is an authentication error")
async def _(use):
    await raises(use.e2b.AuthenticationException, lambda: use.Sandbox.create(api_key="e2b_" + "0" * 40))


async def main(kind):
    use = Use(kind == "async")
    use.sandbox = await done(use.Sandbox.create(timeout=600))
    try:
        for name, run in CASES:
            failure = {}
            try:
                await asyncio.wait_for(run(use), 60)
            except BaseException:
                failure = {"error": traceback.format_exc()[-3000:]}
            finally:
                await use.end(use.made)
                use.made.clear()
            print(json.dumps({"name": name, **failure}), flush=True)
    finally:
        await use.end([use.sandbox])


if sys.argv[1] == "list":
    print("\n".join(name for name, _ in CASES))
else:
    asyncio.run(main(sys.argv[1]))
