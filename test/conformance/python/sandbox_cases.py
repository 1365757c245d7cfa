"""The life of sandboxes."""

import time

from harness import NotInThisVersion, case, done, eventually, raises, takes


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


@case("a paused sandbox keeps its processes, and goes on where it was", needs="pausing")
async def _(use):
    sandbox = await use.create()
    command = await use.run("sleep 1234", sandbox, background=True, timeout=0)
    await use.pause(sandbox)
    assert await use.state(sandbox) == "paused"
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


@case("it ends when its time is over")
async def _(use):
    sandbox = await use.create(timeout=2)

    async def is_over():
        return await done(sandbox.is_running()) is False

    await eventually(is_over)


@case("killing it while a command streams ends the stream with an error")
async def _(use):
    sandbox, pieces = await use.create(), []
    command = await use.run("while true; do echo tick; sleep 0.05; done", sandbox, background=True, timeout=0)
    if not use.is_async:
        # The blocking face reads when it is asked to; the first piece says that the stream is open.
        pieces.append(next(iter(command)))
    await done(sandbox.kill())
    # Old SDKs show what their HTTP library says.
    await raises(Exception, command.wait)


@case("what a sandbox uses is told", needs="metrics")
async def _(use):
    async def is_told():
        told = await done(use.sandbox.get_metrics())
        return told and told[-1].mem_used > 0 and told[-1].cpu_count > 0 and told[-1].disk_total > 0

    await eventually(is_told)


@case("one that is made to pause does so when its time is over, and keeps its processes", needs="pausing")
async def _(use):
    if hasattr(use.Sandbox, "beta_create"):
        sandbox = await done(use.Sandbox.beta_create(timeout=2, auto_pause=True))
        use.made.append(sandbox)
    else:
        sandbox = await use.create(timeout=2, lifecycle={"on_timeout": "pause"})
    command = await use.run("sleep 1234", sandbox, background=True, timeout=0)

    async def is_paused():
        return await use.state(sandbox) == "paused"

    await eventually(is_paused)
    again = await done(use.Sandbox.connect(sandbox.sandbox_id, timeout=60))
    assert (await use.run(f"kill -0 {command.pid} && echo alive", again)).stdout == "alive\n"


@case("one that is made to wake does so by a command that comes for it", needs="pausing")
async def _(use):
    takes(use.Sandbox.create, "lifecycle")
    sandbox = await use.create(lifecycle={"on_timeout": "pause", "auto_resume": True})
    await done(sandbox.files.write("kept", "still"))
    await use.pause(sandbox)
    assert (await use.run("cat kept", sandbox)).stdout == "still"
    assert await use.state(sandbox) == "running"


@case("paused ones are listed as such, and can be killed", needs="pausing")
async def _(use):
    metadata = {"mark": f"python-{use.is_async}-paused-{time.time()}"}
    sandbox = await use.create(metadata=metadata)
    await use.pause(sandbox)
    for state, count in ((use.e2b.SandboxState.PAUSED, 1), (use.e2b.SandboxState.RUNNING, 0)):
        pages = use.Sandbox.list(query=use.e2b.SandboxQuery(metadata=metadata, state=[state]))
        assert len(await done(pages.next_items())) == count
    assert await done(use.Sandbox.kill(sandbox.sandbox_id)) is True


def has(call, owner):
    if not hasattr(owner, call):
        raise NotInThisVersion(f"there is no {call}")


@case("a sandbox made from a snapshot has the files of the first, which goes on", needs="snapshots")
async def _(use):
    has("create_snapshot", use.sandbox)
    sandbox = await use.create()
    await done(sandbox.files.write("kept", "by the first"))
    snapshot = await done(sandbox.create_snapshot())
    await done(sandbox.files.write("kept", "later"))
    other = await use.create(snapshot.snapshot_id)
    assert await done(other.files.read("kept")) == "by the first"
    assert await done(sandbox.files.read("kept")) == "later"
    assert await done(use.Sandbox.delete_snapshot(snapshot.snapshot_id)) is True
    assert await done(use.Sandbox.delete_snapshot(snapshot.snapshot_id)) is False


@case("children of a fork have the files of their original", needs="snapshots")
async def _(use):
    has("fork", use.sandbox)
    sandbox = await use.create()
    await done(sandbox.files.write("kept", "parent"))
    children = await done(sandbox.fork(count=2))
    use.made.extend(children)
    assert len({sandbox.sandbox_id, *(child.sandbox_id for child in children)}) == 3
    for child in children:
        assert await done(child.files.read("kept")) == "parent"
