"""The same calls of SWE-ReX's client to our server and to the original: `swerex_beside.py <place> <token> <place> <token> <archive>`.

Places are sandboxes as the gateway has them, without a port. Ours is at port 8000 of both. In the second sandbox it starts the original, out of the
archive, at port 8001. Names what is answered differently, and ends with how many calls were the same.
"""

import asyncio
import sys

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


def bash(command, timeout=10, **options):
    action = BashAction(command=command, timeout=timeout, **options)
    return f"bash {command!r} {options or ''}", lambda runtime: runtime.run_in_session(action)


def execute(command, timeout=10, **options):
    request = Command(command=command, timeout=timeout, **options)
    return f"execute {command!r} {options or ''}", lambda runtime: runtime.execute(request)


def session(name, **options):
    return f"create {name}", lambda runtime: runtime.create_session(CreateBashSessionRequest(session=name, **options))


def close(name):
    return f"close {name}", lambda runtime: runtime.close_session(CloseBashSessionRequest(session=name))


def interrupt(name="default"):
    return f"interrupt {name}", lambda runtime: runtime.run_in_session(BashInterruptAction(session=name))


def read(path, **options):
    return f"read {path}", lambda runtime: runtime.read_file(ReadFileRequest(path=path, **options))


def write(path, content):
    return f"write {path}", lambda runtime: runtime.write_file(WriteFileRequest(path=path, content=content))


python = {"is_interactive_command": True, "expect": [">>> "]}

CALLS = [
    ("is alive", lambda runtime: runtime.is_alive(timeout=5)),
    bash("true"),
    session("default"),
    session("default"),
    bash("echo hello"),
    bash("printf 'no end'"),
    bash("echo 'a  b'; echo"),
    bash("echo -e 'tab\\there'"),
    bash("x=1; export y=2; cd /tmp"),
    bash("echo $x$y $PWD"),
    bash("echo one\necho two"),
    bash("echo one\n\necho two\n"),
    bash("for i in 1 2 3; do\n  echo $i\ndone"),
    bash("cat <<EOF\na $x\nb\nEOF"),
    bash("A=(1 2 3); echo ${A[1]} ${#A[@]}"),
    bash("[[ a == a ]] && echo same"),
    bash("f() { echo \"got $1\"; return 3; }"),
    bash("f it", check="silent"),
    bash("f it", check="ignore"),
    bash("f it", check="raise"),
    bash("f it", check="raise", error_msg="It broke"),
    bash("no-such-command", check="silent"),
    bash("false", check="silent"),
    bash("true && false || echo third"),
    bash("echo err >&2"),
    bash("echo ü ✓ 漢字"),
    bash("if true"),
    bash("echo 'open"),
    bash("(("),
    bash("echo hello | tr a-z A-Z | wc -c"),
    bash("seq 1 2000 | tail -n 2"),
    bash("echo \"$(echo in) `echo also`\""),
    bash("sleep 100", timeout=0.5),
    interrupt(),
    bash("echo back"),
    bash("true", session="other"),
    session("other"),
    bash("echo ${x:-unset}", session="other"),
    close("other"),
    close("other"),
    bash("python3 -q", **python),
    bash("print(6 * 7)", **python),
    bash("1/0", **python),
    bash("quit()\n", is_interactive_quit=True),
    bash("echo out again"),
    execute("echo out; echo err >&2; exit 3", shell=True),
    execute(["echo", "a  b"]),
    execute("echo $A; pwd", shell=True, env={"A": "1"}, cwd="/usr"),
    execute("echo out; echo err >&2", shell=True, merge_output_streams=True),
    execute("exit 4", shell=True, check=True),
    execute("exit 4", shell=True, check=True, error_msg="It broke"),
    execute(["sleep", "100"], timeout=0.3),
    execute(["no-such-program"]),
    execute(["/etc/passwd"]),
    execute("", shell=True),
    execute("cat", shell=True),
    write("/tmp/beside/deep/file.txt", "one\ntwo ü\n"),
    read("/tmp/beside/deep/file.txt"),
    read("/tmp/beside/deep/file.txt", encoding="latin-1"),
    read("/tmp/beside/none.txt"),
    read("/tmp/beside"),
    write("/tmp/beside", "a folder is there"),
    write("/tmp/beside/empty.txt", ""),
    read("/tmp/beside/empty.txt"),
    bash("cat /tmp/beside/deep/file.txt"),
    bash("printf '\\xff\\xfe' > /tmp/beside/bytes"),
    read("/tmp/beside/bytes"),
    read("/tmp/beside/bytes", errors="replace"),
    close("default"),
    bash("echo late"),
    ("close", lambda runtime: runtime.close()),
    session("default"),
    bash("echo again"),
]

KEY = "original"
START = f"cd / && PYTHONPATH=/opt/original nohup /usr/bin/python3 -m swerex.server --port 8001 --auth-token {KEY} > /tmp/original.log 2>&1 &"


async def outcome(call, runtime):
    try:
        return (await call(runtime)).model_dump()
    except Exception as error:
        return {"error": f"{type(error).__module__}.{type(error).__name__}", "message": str(error)}


def comparable(name, answer):
    """Without what no client can build on."""
    if name.startswith("create"):
        # The original shows the prompt of the shell, which it has not replaced yet.
        answer.pop("output", None)
    if answer.get("expect_string", "").startswith(("SHELLPS1PREFIX", "UNIQUESTRING")):
        # The mark at which a server of SWE-ReX knows that a command is over; one of them has a random number in it.
        answer["expect_string"] = "the end"
    if answer.get("error", "").startswith("pexpect"):
        # What pexpect knows of its process.
        answer.pop("message")
    if "codec can't decode" in answer.get("message", ""):
        answer["message"] = "it cannot be decoded"
    return answer


async def original_in(place, token, archive):
    runtime = RemoteRuntime(host=f"{place}/8000", auth_token=token, timeout=5)
    await runtime.wait_until_alive(timeout=60)
    await runtime.upload(UploadRequest(source_path=archive, target_path="/tmp/original.tgz"))
    unpack = "mkdir -p /opt/original && tar -C /opt/original -xzf /tmp/original.tgz"
    await runtime.execute(Command(command=f"{unpack} && {START}", shell=True, check=True, timeout=60))
    return RemoteRuntime(host=f"{place}/8001", auth_token=KEY, timeout=5)


async def main(place, token, other, other_token, archive):
    runtimes = [RemoteRuntime(host=f"{place}/8000", auth_token=token, timeout=5), await original_in(other, other_token, archive)]
    for runtime in runtimes:
        await runtime.wait_until_alive(timeout=60)
    same = 0
    for name, call in CALLS:
        ours, theirs = [comparable(name, await outcome(call, runtime)) for runtime in runtimes]
        same += ours == theirs
        if ours != theirs:
            print(f"DIFFERENT {name}\n  ours:     {ours!r}\n  original: {theirs!r}")
    print(f"{same} of {len(CALLS)} calls with the same answer")


asyncio.run(main(*sys.argv[1:]))
