"""What the cases for the Python SDKs are written with: once for both of their faces, what is awaitable is awaited."""

import asyncio
import importlib
import inspect
import time

CASES = []


def case(name, needs=None):
    """`needs`: what not every server can do, by the names of server-under-test.ts."""

    def add(run):
        CASES.append((name, needs, run))
        return run

    return add


class NotInThisVersion(Exception):
    """The SDK that runs is older than what the case is about."""


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


def takes(call, option):
    if option not in inspect.signature(call).parameters:
        raise NotInThisVersion(f"there is no option {option}")


class Use:
    """`own`: the module that is held to the cases. Errors and all else are those of the SDK, which it may stand on."""

    def __init__(self, own, is_async):
        self.e2b = importlib.import_module("e2b")
        self.is_async = is_async
        self.Sandbox = own.AsyncSandbox if is_async else own.Sandbox
        self.made = []

    async def create(self, *args, **options):
        sandbox = await done(self.Sandbox.create(*args, **{"timeout": 600, **options}))
        self.made.append(sandbox)
        return sandbox

    async def run(self, command, sandbox=None, **options):
        return await done((sandbox or self.sandbox).commands.run(command, **options))

    async def code(self, code, sandbox=None, **options):
        return await done((sandbox or self.sandbox).run_code(code, **options))

    async def pause(self, sandbox):
        await done(sandbox.pause() if hasattr(sandbox, "pause") else sandbox.beta_pause())

    async def state(self, sandbox):
        return (await done(self.Sandbox.get_info(sandbox.sandbox_id))).state.value

    async def end(self, sandboxes):
        for sandbox in sandboxes:
            await done(self.Sandbox.kill(sandbox.sandbox_id))
