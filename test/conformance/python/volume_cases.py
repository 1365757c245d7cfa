"""Volumes: made, filled from outside, mounted into two sandboxes, destroyed."""

import secrets

from harness import NotInThisVersion, case, done, raises


def volume_class(use):
    if not hasattr(use.e2b, "AsyncVolume"):
        raise NotInThisVersion("there are no volumes")
    return use.e2b.AsyncVolume if use.is_async else use.e2b.Volume


@case("a volume is shared by two sandboxes, and its files are there after them", needs="volumes")
async def _(use):
    Volume = volume_class(use)
    volume = await done(Volume.create(f"v-{secrets.token_hex(6)}"))
    try:
        await done(volume.write_file("/from-outside", "hello"))
        first = await use.create(volume_mounts={"/mnt/shared": volume})
        second = await use.create(volume_mounts={"/mnt/other": volume.name})
        assert (await use.run("cat /mnt/shared/from-outside && echo 1 > /mnt/shared/from-first", first)).stdout == "hello"
        assert (await use.run("cat /mnt/other/from-first", second)).stdout == "1\n"
        info = await done(first.get_info())
        assert [(one["name"], one["path"]) for one in info.volume_mounts] == [(volume.name, "/mnt/shared")]
        await done(first.kill())
        await done(second.kill())
        assert await done(volume.read_file("/from-first")) == "1\n"
    finally:
        assert await done(Volume.destroy(volume.volume_id))


@case("files and folders of a volume are made, listed, changed and removed", needs="volumes")
async def _(use):
    Volume = volume_class(use)
    volume = await done(Volume.create(f"v-{secrets.token_hex(6)}"))
    try:
        await done(volume.make_dir("/a/b", force=True))
        entry = await done(volume.write_file("/a/b/c.txt", "text", uid=1000, gid=1000, mode=0o640))
        assert (entry.size, entry.uid, entry.mode, entry.path) == (4, 1000, 0o640, "/a/b/c.txt")
        assert [one.path for one in await done(volume.list("/", depth=3))] == ["/a", "/a/b", "/a/b/c.txt"]
        assert (await done(volume.update_metadata("/a/b/c.txt", mode=0o600))).mode == 0o600
        assert await done(volume.exists("/a/b/c.txt"))
        await done(volume.remove("/a"))
        assert not await done(volume.exists("/a/b/c.txt"))
        await raises(use.e2b.VolumePathNotFoundException, lambda: volume.read_file("/no/such"))
        assert volume.volume_id in [one.volume_id for one in await done(Volume.list())]
    finally:
        assert await done(Volume.destroy(volume.volume_id))
    assert not await done(Volume.destroy(volume.volume_id))
