"""Files and watches."""

import io

from harness import case, done, eventually, raises, takes


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


@case("a file is written from a stream of bytes")
async def _(use):
    await done(use.sandbox.files.write("from-io", io.BytesIO(b"of a stream")))
    assert await done(use.sandbox.files.read("from-io")) == "of a stream"


@case("files are written and read as root when asked to")
async def _(use):
    await done(use.sandbox.files.write("/root/mine", "x", user="root"))
    assert (await use.run("stat -c %U /root/mine", user="root")).stdout == "root\n"
    assert await done(use.sandbox.files.read("/root/mine", user="root")) == "x"


@case("a listing goes as deep as it is told")
async def _(use):
    await use.run("mkdir -p tree/a/b/c")
    for depth, count in ((1, 1), (2, 2), (3, 3)):
        assert len(await done(use.sandbox.files.list("tree", depth=depth))) == count


@case("a folder is no file, and a file no folder")
async def _(use):
    await raises(use.e2b.InvalidArgumentException, lambda: use.sandbox.files.read("/usr"))
    await raises(use.e2b.InvalidArgumentException, lambda: use.sandbox.files.list("/etc/passwd"))


@case("folders below are watched when asked for")
async def _(use):
    await done(use.sandbox.files.make_dir("above/below"))
    events = []
    if use.is_async:
        watch = await use.sandbox.files.watch_dir("above", on_event=events.append, recursive=True)
    else:
        watch = use.sandbox.files.watch_dir("above", recursive=True)
    await done(use.sandbox.files.write("above/below/file", "x"))

    async def is_told():
        if not use.is_async:
            events.extend(watch.get_new_events())
        return "below/file" in [event.name for event in events]

    await eventually(is_told)
    await done(watch.stop())


@case("what is noted about a file is told with it")
async def _(use):
    takes(use.sandbox.files.write, "metadata")
    await done(use.sandbox.files.write("noted", "x", metadata={"author": "me"}))
    assert (await done(use.sandbox.files.get_info("noted"))).metadata == {"author": "me"}


@case("a file goes both ways in less than its size")
async def _(use):
    takes(use.sandbox.files.write, "gzip")
    text = "to be squeezed " * 100_000
    await done(use.sandbox.files.write("squeezed", text, gzip=True))
    assert await done(use.sandbox.files.read("squeezed", gzip=True)) == text


@case("a thousand small files with one call")
async def _(use):
    written = await done(use.sandbox.files.write_files([{"path": f"small/{n}", "data": str(n)} for n in range(1000)]))
    assert len(written) == 1000
    assert (await use.run("ls small | wc -l; cat small/777")).stdout == "1000\n777"


@case("a hundred megabytes up and down")
async def _(use):
    big = b"0123456789abcdef" * (100 * 65536)
    await done(use.sandbox.files.write("big", big, request_timeout=60))
    assert (await done(use.sandbox.files.get_info("big"))).size == 104_857_600
    assert bytes(await done(use.sandbox.files.read("big", format="bytes", request_timeout=60))) == big
    await done(use.sandbox.files.remove("big"))
