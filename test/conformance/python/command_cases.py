"""Commands and terminals."""

import time

from harness import NotInThisVersion, case, done, eventually, raises


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


@case("errors are told while the command still runs, and in the end")
async def _(use):
    pieces = []
    result = await use.run("echo oops >&2; sleep 0.3; echo out", on_stderr=pieces.append)
    assert (pieces, result.stderr, result.stdout) == (["oops\n"], "oops\n", "out\n")


@case("a command without input sees its end at once")
async def _(use):
    assert (await use.run("cat; echo end", stdin=False, timeout=10)).stdout == "end\n"


@case("input can be closed")
async def _(use):
    if not hasattr(use.sandbox.commands, "close_stdin"):
        raise NotInThisVersion("there is no close_stdin")
    command = await use.run("cat; echo end", background=True, stdin=True)
    await done(use.sandbox.commands.send_stdin(command.pid, "one\n"))
    await done(use.sandbox.commands.close_stdin(command.pid))
    assert (await done(command.wait())).stdout == "one\nend\n"


@case("input can be streamed")
async def _(use):
    if not hasattr(use.sandbox.commands, "stream_input"):
        raise NotInThisVersion("there is no stream_input")
    command = await use.run("head -n 3 | tac", background=True, stdin=True)

    if use.is_async:
        into = use.sandbox.commands.stream_input(command.pid)
        for n in range(3):
            await into.send(f"{n}\n")
        await into.close()
    else:
        use.sandbox.commands.stream_input(command.pid, (f"{n}\n" for n in range(3)))
    assert (await done(command.wait())).stdout == "2\n1\n0\n"


@case("a command ended by a signal says so")
async def _(use):
    command = await use.run("sleep 1234", background=True)
    await use.run(f"kill -KILL {command.pid}")
    error = await raises(use.e2b.CommandExitException, command.wait)
    assert (error.exit_code, error.error) == (-1, "signal: killed")


@case("following a command that never was is an error")
async def _(use):
    await raises(use.e2b.NotFoundException, lambda: use.sandbox.commands.connect(4_000_000))


@case("a command without a limit of time is not ended")
async def _(use):
    command = await use.run("sleep 2; echo slept", background=True, timeout=0)
    assert (await done(command.wait())).stdout == "slept\n"


@case("a terminal gets another size, and is killed")
async def _(use):
    size = use.e2b.PtySize(rows=24, cols=80)
    if use.is_async:
        terminal = await use.sandbox.pty.create(size, on_data=lambda piece: None)
    else:
        terminal = use.sandbox.pty.create(size)
    await done(use.sandbox.pty.resize(terminal.pid, use.e2b.PtySize(rows=40, cols=120)))
    await done(use.sandbox.pty.send_stdin(terminal.pid, b"stty size > size.txt\n"))

    async def is_told():
        return await done(use.sandbox.files.exists("size.txt")) and await done(use.sandbox.files.read("size.txt")) == "40 120\n"

    await eventually(is_told)
    assert await done(use.sandbox.pty.kill(terminal.pid)) is True
