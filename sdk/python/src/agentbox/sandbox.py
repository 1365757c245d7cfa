"""One sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from . import types as t
from ._settings import Settings
from ._wishes import checkpoint_of, command_of, error_of_failures, fork_of, timeouts_of
from .api import Api
from .commands import CommandResult, Listener, run_command


class Sandbox:
    """`with` ends it."""

    def __init__(self, api: Api, settings: Settings, sandbox_id: str, created: t.CreatedSandbox | None = None) -> None:
        self.id = sandbox_id
        self.api = api
        self.files = Files(api, sandbox_id)
        #: What the create answered, with its tokens; None for a sandbox that was found by its id.
        self.created = created
        self._settings = settings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def info(self) -> t.Sandbox:
        """What the server knows now, also after its end."""
        return self.api.get_sandbox(self.id)["sandbox"]

    def run(
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
        return run_command(self._settings, self.id, wish)

    def set_timeouts(self, *, idle_timeout: float | str | None = None, lifetime: float | str | None = None, only_later: bool = False) -> t.Sandbox:
        """A lifetime counts from now."""
        return self.api.set_timeouts(self.id, body=timeouts_of(idle_timeout, lifetime, only_later))["sandbox"]

    def pause(self) -> t.Sandbox:
        return self.api.pause_sandbox(self.id)["sandbox"]

    def resume(self) -> t.Sandbox:
        return self.api.resume_sandbox(self.id)["sandbox"]

    def checkpoint(self, *, alias: str | None = None, keep_running: bool | None = None, ttl: str | None = None) -> t.Checkpoint:
        """Keeps the files; a create that names the checkpoint starts from them."""
        return self.api.take_checkpoint(self.id, body=checkpoint_of(alias, keep_running, ttl))["checkpoint"]

    def fork(self, count: int = 1, *, lifetime: float | str | None = None) -> list[Sandbox]:
        """Sandboxes that start from the files of this one. Raises AgentBoxError if one of them could not be made; the others are ended then."""
        answer = self.api.fork_sandbox(self.id, body=fork_of(count, lifetime))
        forks = [Sandbox(self.api, self._settings, one["sandbox"]["sandboxId"], one) for one in answer["sandboxes"]]
        _all_or_none(forks, answer["failures"])
        return forks

    def logs(self, *, tail: int | None = None, source: str | None = None) -> list[str]:
        return self.api.read_log(self.id, tail=tail, source=source)["lines"]

    @contextmanager
    def follow_logs(self) -> Iterator[Iterator[str]]:
        """Lines of JSON: the log so far, then new ones until the sandbox ends."""
        with self.api.follow_log(self.id) as lines:
            yield lines

    def end(self) -> None:
        """Ending a sandbox that has ended succeeds."""
        self.api.end_sandbox(self.id)


def _all_or_none(forks: list[Sandbox], failures: Sequence[Mapping[str, Any]]) -> None:
    if not failures:
        return
    for fork in forks:
        fork.end()
    raise error_of_failures(failures)


class Files:
    """Files of a running sandbox. A relative path is in the user's home."""

    def __init__(self, api: Api, sandbox_id: str) -> None:
        self._api = api
        self._id = sandbox_id

    def read(self, path: str, *, user: str | None = None) -> bytes:
        return self._api.read_file(self._id, path, user=user)

    def read_text(self, path: str, *, user: str | None = None) -> str:
        return self.read(path, user=user).decode()

    def write(self, path: str, data: str | bytes, *, user: str | None = None) -> None:
        self._api.write_file(self._id, path, data.encode() if isinstance(data, str) else data, user=user)

    def list(self, path: str, *, depth: int | None = None) -> Sequence[t.FileEntry]:
        return self._api.list_files(self._id, path, depth=depth)["entries"]

    def remove(self, path: str) -> None:
        self._api.remove_file(self._id, path)

    def make_folder(self, path: str) -> None:
        self._api.make_folder(self._id, path)

    def move(self, path: str, to: str) -> None:
        self._api.move_file(self._id, path, {"to": to})
