"""One sandbox, asynchronously."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from . import types as t
from ._settings import Settings
from ._wishes import checkpoint_of, command_of, error_of_failures, fork_of, timeouts_of
from .api import AsyncApi
from .commands import CommandResult, Listener, run_command_async


class AsyncSandbox:
    """`async with` ends it."""

    def __init__(self, api: AsyncApi, settings: Settings, sandbox_id: str, created: t.CreatedSandbox | None = None) -> None:
        self.id = sandbox_id
        self.api = api
        self.files = AsyncFiles(api, sandbox_id)
        #: What the create answered, with its tokens; None for a sandbox that was found by its id.
        self.created = created
        self._settings = settings

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    async def info(self) -> t.Sandbox:
        """What the server knows now, also after its end."""
        return (await self.api.get_sandbox(self.id))["sandbox"]

    async def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: str | bytes = b"",
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        timeout: float | str | None = None,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
    ) -> CommandResult:
        """Runs a command to its end; any exit code is a result. A text is run by `sh`. What a listener gets is not in the result."""
        wish = command_of(command, stdin, {"env": env, "user": user, "workingDir": cwd}, timeout, (on_stdout, on_stderr))
        return await run_command_async(self._settings, self.id, wish)

    async def set_timeouts(self, *, idle_timeout: float | str | None = None, lifetime: float | str | None = None, only_later: bool = False) -> t.Sandbox:
        """A lifetime counts from now."""
        return (await self.api.set_timeouts(self.id, body=timeouts_of(idle_timeout, lifetime, only_later)))["sandbox"]

    async def pause(self) -> t.Sandbox:
        return (await self.api.pause_sandbox(self.id))["sandbox"]

    async def resume(self) -> t.Sandbox:
        return (await self.api.resume_sandbox(self.id))["sandbox"]

    async def checkpoint(self, *, alias: str | None = None, keep_running: bool | None = None, ttl: str | None = None) -> t.Checkpoint:
        """Keeps the files; a create that names the checkpoint starts from them."""
        return (await self.api.take_checkpoint(self.id, body=checkpoint_of(alias, keep_running, ttl)))["checkpoint"]

    async def fork(self, count: int = 1, *, lifetime: float | str | None = None) -> list[AsyncSandbox]:
        """Sandboxes that start from the files of this one. Raises AgentBoxError if one of them could not be made; the others are ended then."""
        answer = await self.api.fork_sandbox(self.id, body=fork_of(count, lifetime))
        forks = [AsyncSandbox(self.api, self._settings, one["sandbox"]["sandboxId"], one) for one in answer["sandboxes"]]
        await _all_or_none(forks, answer["failures"])
        return forks

    async def logs(self, *, tail: int | None = None, source: str | None = None) -> list[str]:
        return (await self.api.read_log(self.id, tail=tail, source=source))["lines"]

    @asynccontextmanager
    async def follow_logs(self) -> AsyncIterator[AsyncIterator[str]]:
        """Lines of JSON: the log so far, then new ones until the sandbox ends."""
        async with self.api.follow_log(self.id) as lines:
            yield lines

    async def end(self) -> None:
        """Ending a sandbox that has ended succeeds."""
        await self.api.end_sandbox(self.id)


async def _all_or_none(forks: list[AsyncSandbox], failures: Sequence[Mapping[str, Any]]) -> None:
    if not failures:
        return
    for fork in forks:
        await fork.end()
    raise error_of_failures(failures)


class AsyncFiles:
    """Files of a running sandbox. A relative path is in the user's home."""

    def __init__(self, api: AsyncApi, sandbox_id: str) -> None:
        self._api = api
        self._id = sandbox_id

    async def read(self, path: str, *, user: str | None = None) -> bytes:
        return await self._api.read_file(self._id, path, user=user)

    async def read_text(self, path: str, *, user: str | None = None) -> str:
        return (await self.read(path, user=user)).decode()

    async def write(self, path: str, data: str | bytes, *, user: str | None = None) -> None:
        await self._api.write_file(self._id, path, data.encode() if isinstance(data, str) else data, user=user)

    async def list(self, path: str, *, depth: int | None = None) -> Sequence[t.FileEntry]:
        return (await self._api.list_files(self._id, path, depth=depth))["entries"]

    async def remove(self, path: str) -> None:
        await self._api.remove_file(self._id, path)

    async def make_folder(self, path: str) -> None:
        await self._api.make_folder(self._id, path)

    async def move(self, path: str, to: str) -> None:
        await self._api.move_file(self._id, path, {"to": to})
