"""Inspect's sandbox provider: `Task(sandbox="agentbox")`, or `SandboxEnvironmentSpec("agentbox", AgentBoxConfig(pool=…))`. Needs the extra `inspect`."""

from __future__ import annotations

import posixpath
import uuid
from typing import Any, Literal, Self, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    sandboxenv,
)
from pydantic import BaseModel

from agentbox import AgentBoxError, AsyncAgentBox, AsyncSandbox, CommandResult

_mark = {"made-by": "inspect_ai"}

#: Answers of our own commands, apart from those of the programs in them.
_is_directory, _is_missing, _is_refused = 121, 122, 123

_read = f"""
[ -d "$1" ] && exit {_is_directory}
[ -e "$1" ] || exit {_is_missing}
[ -r "$1" ] || exit {_is_refused}
exec cat -- "$1"
"""
_write = f"""
[ -d "$1" ] && exit {_is_directory}
mkdir -p -- "$(dirname -- "$1")" || exit {_is_refused}
[ -e "$1" ] && [ ! -w "$1" ] && exit {_is_refused}
cat > "$1" || exit {_is_refused}
"""


class AgentBoxConfig(BaseModel, frozen=True):
    """Where sandboxes come from, and the fields of a create, such as `lifetime` or `envVars`."""

    pool: str = "base"
    #: Of commands and files, and whose home the working folder is; None: the image's own.
    user: str | None = "user"
    #: Fields of the API's CreateSandbox.
    options: dict[str, Any] = {}


@sandboxenv(name="agentbox")
class AgentBoxSandboxEnvironment(SandboxEnvironment):
    def __init__(self, box: AsyncAgentBox, sandbox: AsyncSandbox, user: str | None, home: str) -> None:
        super().__init__()
        self._box = box
        self._sandbox = sandbox
        self._user = user
        self._home = home

    @classmethod
    async def create(cls, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]) -> Self:
        """AGENTBOX_API_URL and AGENTBOX_API_KEY say where."""
        wanted = _config_of(config)
        box = AsyncAgentBox()
        try:
            created = await box.api.create_sandbox(
                {"poolName": wanted.pool, **wanted.options, "metadata": {**wanted.options.get("metadata", {}), **metadata, **_mark}},  # type: ignore[typeddict-item]
                idempotency_key=str(uuid.uuid4()),
            )
            sandbox = box.sandbox(created["sandbox"]["sandboxId"])
            home = (await sandbox.run("cd && pwd", user=wanted.user)).stdout.strip()
        except BaseException:
            await box.close()
            raise
        return cls(box, sandbox, wanted.user, home)

    @classmethod
    async def sample_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]) -> dict[str, SandboxEnvironment]:
        return {"default": await cls.create(config, {"inspect-task": task_name})}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        for environment in environments.values():
            await environment.as_type(AgentBoxSandboxEnvironment).close()

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """`inspect sandbox cleanup agentbox [ID]` ends what interrupted runs left."""
        async with AsyncAgentBox() as box:
            if id is not None:
                return await box.sandbox(id).end()
            filters = {"metadata": [f"{name}={value}" for name, value in _mark.items()], "status": ["Starting", "Running", "Paused"]}
            async for record in box.history(**filters):
                await box.sandbox(record["sandboxId"]).end()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return AgentBoxConfig(**config)

    async def close(self) -> None:
        try:
            await self._sandbox.end()
        finally:
            await self._box.close()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        outputs = _Outputs(limit, SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR)
        try:
            result = await self._run(cmd, outputs, stdin=input or b"", env=env, user=user or self._user, cwd=self._path(cwd or "."), timeout=timeout)
        except AgentBoxError as error:
            if error.code == "timeout":
                raise TimeoutError(f"the command took longer than {timeout} s") from error
            # Such as a user that does not exist: as a command that could not run.
            if error.code == "invalid_request":
                return ExecResult(False, 126, "", str(error))
            raise
        if result.exit_code == 126 and result.start_error is not None:
            raise PermissionError(result.start_error)
        stderr = outputs.text(2) if result.start_error is None else f"{outputs.text(2)}{result.start_error}\n"
        return ExecResult(result.exit_code == 0, result.exit_code, outputs.text(1), stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        result = await self._sandbox.run(["sh", "-c", _write, "sh", self._path(file)], stdin=contents, user=self._user)
        _raise_for(result.exit_code, file, result.stderr)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        outputs = _Outputs(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE, SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR)
        result = await self._run(["sh", "-c", _read, "sh", self._path(file)], outputs, user=self._user)
        _raise_for(result.exit_code, file, outputs.text(2))
        data = bytes(outputs.pieces[1])
        return data.decode() if text else data

    async def _run(self, command: list[str], outputs: _Outputs, **options: Any) -> CommandResult:
        return await self._sandbox.run(command, on_stdout=outputs.listener(1), on_stderr=outputs.listener(2), **options)

    def _path(self, file: str) -> str:
        return posixpath.join(self._home, file)


class _Outputs:
    """What a command writes, as far as Inspect takes it: a larger output ends the command."""

    def __init__(self, limit: int, limit_text: str) -> None:
        self.pieces = {1: bytearray(), 2: bytearray()}
        self._limit = limit
        self._limit_text = limit_text

    def listener(self, number: int) -> Any:
        def take(piece: bytes) -> None:
            self.pieces[number] += piece
            if len(self.pieces[number]) > self._limit:
                raise OutputLimitExceededError(self._limit_text, self.text(number))

        return take

    def text(self, number: int) -> str:
        return self.pieces[number].decode("utf-8", "replace")


def _raise_for(code: int, file: str, stderr: str) -> None:
    if code == _is_directory:
        raise IsADirectoryError(f"{file} is a directory")
    if code == _is_missing:
        raise FileNotFoundError(f"{file} does not exist")
    if code == _is_refused:
        raise PermissionError(f"{file}: {stderr.strip() or 'permission denied'}")
    if code != 0:
        raise OSError(f"{file}: exit code {code}: {stderr.strip()}")


def _config_of(config: SandboxEnvironmentConfigType | None) -> AgentBoxConfig:
    if isinstance(config, AgentBoxConfig):
        return config
    if config is None:
        return AgentBoxConfig()
    # Inspect makes a path of a text, so the name of a pool cannot be one.
    raise TypeError(f"the configuration of agentbox is an AgentBoxConfig, not {config!r}")
