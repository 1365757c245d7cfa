"""Calls of SWE-ReX's client: `swerex_cases.py <host> <token>`. Ends with how many were as expected."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import pexpect
from swerex import exceptions
from swerex.runtime.abstract import (
    BashAction,
    BashInterruptAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
    ReadFileRequest,
    UploadRequest,
    WriteFileRequest,
)
from swerex.runtime.remote import RemoteRuntime

calls = 0


def same(given, expected):
    global calls
    calls += 1
    assert given == expected, f"call {calls}: {given!r} is not {expected!r}"


async def fails(kind, call):
    global calls
    calls += 1
    try:
        await call
    except kind as error:
        assert type(error) is kind, f"call {calls}: {type(error)} is not {kind}"
        return error
    raise AssertionError(f"call {calls} did not fail with {kind}")


def bash(command, timeout=10, **options):
    return BashAction(command=command, timeout=timeout, **options)


async def sessions(runtime):
    run = runtime.run_in_session
    same((await runtime.create_session(CreateBashSessionRequest())).output, "")
    await fails(exceptions.SessionExistsError, runtime.create_session(CreateBashSessionRequest()))
    for command, output in [
        ("echo hello", "hello\n"),
        ("x=1; export y=2; cd /tmp", ""),
        ("echo $x$y $PWD", "12 /tmp\n"),
        ("echo one\n\necho two\n", "one\ntwo\n"),
        ("for i in 1 2 3;\n do echo $i;\n done", "1\n2\n3\n"),
        ("cat <<EOF\na $x\n\tb\nEOF", "a 1\n\tb\n"),
        ("A=(1 2); echo ${A[1]}", "2\n"),
        ("[[ $x == $x ]] && echo same", "same\n"),
        ("printf 'no end'", "no end"),
        ("# nothing", ""),
        ("", ""),
        ("\n \n", ""),
        ("echo 'hi!' \"$(echo in)\"", "hi! in\n"),
        ("(sleep 1000) & echo on", None),
    ]:
        observation = await run(bash(command))
        same((observation.exit_code, observation.failure_reason), (0, ""))
        if output is not None:
            same(observation.output, output)
    same((await run(bash("exit_is() { return $1; }; exit_is 7", check="silent"))).exit_code, 7)
    same((await run(bash("no-such-command", check="silent"))).exit_code, 127)
    same((await run(bash("false", check="ignore"))).exit_code, None)
    error = await fails(exceptions.NonZeroExitCodeError, run(bash("echo out; false", error_msg="Oh")))
    same(str(error), "Oh: Command 'echo out; false' failed with exit code 1. Here is the output:\n'out\\n'")
    error = await fails(exceptions.BashIncorrectSyntaxError, run(bash("if true")))
    same(set(error.extra_info), {"bash_stdout", "bash_stderr"})
    await fails(exceptions.SessionDoesNotExistError, run(bash("true", session="other")))
    await fails(exceptions.CommandTimeoutError, run(bash("sleep 100", timeout=0.3)))
    same((await run(BashInterruptAction())).exit_code, 0)
    same((await run(bash("echo back"))).output, "back\n")


async def interactive(runtime):
    run = runtime.run_in_session
    python = {"is_interactive_command": True, "expect": [">>> "]}
    same((await run(bash("python3 -q", **python))).expect_string, ">>> ")
    same((await run(bash("print(6 * 7)", **python))).output.endswith("42"), True)
    same((await run(bash("quit()\n", is_interactive_quit=True))).exit_code, 0)
    same((await run(bash("echo out again"))).output, "out again\n")
    slow = asyncio.create_task(run(bash("sleep 100", timeout=60, check="silent")))
    await asyncio.sleep(1)
    await run(BashInterruptAction())
    same((await slow).exit_code, 130)
    await runtime.create_session(CreateBashSessionRequest(session="two"))
    both = await asyncio.gather(run(bash("echo $x", session="two")), run(bash("echo $x")))
    same([one.output for one in both], ["\n", "1\n"])
    await runtime.close_session(CloseBashSessionRequest(session="two"))
    await fails(exceptions.SessionDoesNotExistError, runtime.close_session(CloseBashSessionRequest(session="two")))
    await fails(pexpect.exceptions.EOF, run(bash("exit")))


async def commands(runtime):
    execute = runtime.execute
    answer = await execute(Command(command="echo out; echo err >&2; exit 3", shell=True))
    same((answer.stdout, answer.stderr, answer.exit_code), ("out\n", "err\n", 3))
    answer = await execute(Command(command="echo out; echo err >&2", shell=True, merge_output_streams=True))
    same((answer.stdout, answer.stderr), ("out\nerr\n", ""))
    same((await execute(Command(command=["echo", "a  b"]))).stdout, "a  b\n")
    same((await execute(Command(command="echo $A; pwd", shell=True, env={"A": "1"}, cwd="/usr"))).stdout, "1\n/usr\n")
    same((await execute(Command(command="", shell=True, check=True))).exit_code, 0)
    await fails(exceptions.CommandTimeoutError, execute(Command(command=["sleep", "100"], timeout=0.2)))
    await fails(exceptions.NonZeroExitCodeError, execute(Command(command=["false"], check=True)))
    await fails(FileNotFoundError, execute(Command(command=["no-such-program"])))
    await fails(PermissionError, execute(Command(command=["/etc/passwd"])))


async def files(runtime):
    await runtime.write_file(WriteFileRequest(path="/tmp/new/deep/file.txt", content="ü\n" * 100_000))
    same(len((await runtime.read_file(ReadFileRequest(path="/tmp/new/deep/file.txt"))).content), 200_000)
    error = await fails(FileNotFoundError, runtime.read_file(ReadFileRequest(path="none.txt")))
    same(str(error), "[Errno 2] No such file or directory: 'none.txt'")
    await fails(IsADirectoryError, runtime.read_file(ReadFileRequest(path="/tmp")))
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "tree"
        (source / "sub").mkdir(parents=True)
        (source / "one.txt").write_text("one")
        (source / "sub" / "two.txt").write_text("two" * 1000)
        await runtime.upload(UploadRequest(source_path=str(source), target_path="/tmp/up/tree"))
        await runtime.upload(UploadRequest(source_path=str(source / "one.txt"), target_path="/tmp/up/single.txt"))
    for path, content in (("tree/one.txt", "one"), ("tree/sub/two.txt", "two" * 1000), ("single.txt", "one")):
        same((await runtime.read_file(ReadFileRequest(path=f"/tmp/up/{path}"))).content, content)


async def main(host, token):
    runtime = RemoteRuntime(host=host, auth_token=token)
    await runtime.wait_until_alive(timeout=30)
    same((await runtime.is_alive(timeout=5)).is_alive, True)
    wrong = await RemoteRuntime(host=host, auth_token="guess").is_alive(timeout=5)
    same((wrong.is_alive, wrong.message.endswith("Message: Invalid API Key")), (False, True))
    await sessions(runtime)
    took = []
    for _ in range(20):
        began = time.perf_counter()
        same((await runtime.run_in_session(bash("echo quick"))).output, "quick\n")
        took.append(time.perf_counter() - began)
    print(f"echo in a session: median {sorted(took)[10] * 1000:.1f} ms")
    await interactive(runtime)
    await commands(runtime)
    await files(runtime)
    await runtime.close()
    same((await runtime.is_alive(timeout=5)).is_alive, True)
    await runtime.create_session(CreateBashSessionRequest())
    same((await runtime.run_in_session(bash("echo again"))).output, "again\n")
    print(f"{calls} calls as expected")


asyncio.run(main(*sys.argv[1:]))
