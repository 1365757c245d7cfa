"""Where a sandbox may connect to, changed while it runs; seen by connections from inside to addresses that this machine plays."""

import os

from harness import NotInThisVersion, case, done, raises

ASK = """
import socket
try:
    connection = socket.create_connection(("%s", %s), timeout=3)
    connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print("answered" if connection.recv(1) else "refused")
except OSError:
    print("refused")
"""


async def reached(use, sandbox):
    """Whether it gets an answer of the first and of the second address."""
    first, second, port = outside()
    answers = [(await use.run(f"python3 -c '{ASK % (address, port)}'", sandbox)).stdout for address in (first, second)]
    return [answer == "answered\n" for answer in answers]


def outside():
    return os.environ["AGENTBOX_CONFORMANCE_OUTSIDE"].split(",")


def has_call(use):
    if not hasattr(use.Sandbox, "update_network"):
        raise NotInThisVersion("there is no call update_network")


@case("addresses are denied to a running sandbox and allowed again", needs="egress")
async def _(use):
    has_call(use)
    sandbox = await use.create()
    _, second, _ = outside()
    assert await reached(use, sandbox) == [True, True]
    await done(sandbox.update_network({"deny_out": [second]}))
    assert await reached(use, sandbox) == [True, False]
    await done(sandbox.update_network({}))
    assert await reached(use, sandbox) == [True, True]


@case("a network is denied to a running sandbox, but for an address in it that is allowed", needs="egress")
async def _(use):
    has_call(use)
    sandbox = await use.create()
    first, _, _ = outside()
    await done(use.Sandbox.update_network(sandbox.sandbox_id, {"deny_out": ["25.0.0.0/8"], "allow_out": [f"{first}/32"]}))
    assert await reached(use, sandbox) == [True, False]


@case("what is no address is refused, and leaves the network of a running sandbox as it was", needs="egress")
async def _(use):
    has_call(use)
    first, _, _ = outside()
    sandbox = await use.create(network={"deny_out": [first]})
    await raises(use.e2b.SandboxException, lambda: sandbox.update_network({"deny_out": ["example.com"]}))
    assert await reached(use, sandbox) == [False, True]
