"""A command in a sandbox, with its streams over a WebSocket: bytes are unchanged, and there is no limit of size or time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import connect

from ._settings import Settings
from .errors import AgentBoxError, error_of_answer, unreachable

#: Bytes of input that may be in flight. Below the server's window, so that it always reads our messages.
_WINDOW = 512 * 1024
_PIECE = 64 * 1024

Listener = Callable[[bytes], None]


@dataclass(frozen=True)
class CommandResult:
    #: As in a shell: 128 plus the signal's number if a signal ended it, 126 or 127 if it could not be started.
    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes
    #: Why it could not be started.
    start_error: str | None = None

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")


@dataclass(frozen=True)
class Command:
    command: list[str]
    stdin: bytes
    options: dict[str, Any]
    on_stdout: Listener | None
    on_stderr: Listener | None


def span(seconds: float | str) -> str:
    """A time span as the API takes it."""
    return seconds if isinstance(seconds, str) else f"{max(1, round(seconds * 1000))}ms"


class _Conversation:
    """What is sent and kept, without a connection."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._sent = 0
        self._taken = 0
        self._is_input_over = False
        self._outputs: dict[int, list[bytes]] = {1: [], 2: []}
        self.result: CommandResult | None = None

    def first(self) -> str:
        return json.dumps({"command": self._command.command, **self._command.options})

    def next_input(self) -> str | bytes | None:
        """None: nothing is to be sent before the next message."""
        if self._sent < len(self._command.stdin):
            if self._sent - self._taken >= _WINDOW:
                return None
            piece = self._command.stdin[self._sent : self._sent + _PIECE]
            self._sent += len(piece)
            return piece
        if self._is_input_over:
            return None
        self._is_input_over = True
        return '{"type":"eof"}'

    def end_input(self) -> None:
        self._sent = len(self._command.stdin)
        self._is_input_over = True

    def take(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            return self._output(message[0], message[1:])
        said = json.loads(message)
        if said["type"] == "taken":
            self._taken = said["bytes"]
        elif said["type"] == "exit":
            stdout, stderr = (b"".join(self._outputs[number]) for number in (1, 2))
            self.result = CommandResult(said["exitCode"], stdout, stderr, said.get("startError"))
        elif said["type"] == "error":
            raise AgentBoxError(said["code"], said["detail"], problem=said)

    def _output(self, number: int, piece: bytes) -> None:
        listener = self._command.on_stdout if number == 1 else self._command.on_stderr
        if listener is not None:
            listener(piece)
        else:
            self._outputs[number].append(piece)


_options: dict[str, Any] = {"compression": None, "max_size": None, "ping_interval": None, "user_agent_header": None}


def run_command(settings: Settings, sandbox_id: str, command: Command) -> CommandResult:
    talk = _Conversation(command)
    url = settings.socket_url(f"/v1/sandboxes/{sandbox_id}/exec/stream")
    try:
        with connect(url, additional_headers=settings.headers(), open_timeout=settings.timeout, **_options) as socket:
            socket.send(talk.first())
            while talk.result is None:
                try:
                    while (piece := talk.next_input()) is not None:
                        socket.send(piece)
                except ConnectionClosed:
                    # The command ended without its whole input; how it ended may have arrived already.
                    talk.end_input()
                talk.take(socket.recv())
    except (InvalidHandshake, ConnectionClosed, OSError) as error:
        raise _failure(settings, error) from error
    return talk.result


async def run_command_async(settings: Settings, sandbox_id: str, command: Command) -> CommandResult:
    talk = _Conversation(command)
    url = settings.socket_url(f"/v1/sandboxes/{sandbox_id}/exec/stream")
    try:
        async with connect_async(url, additional_headers=settings.headers(), open_timeout=settings.timeout, **_options) as socket:
            await socket.send(talk.first())
            while talk.result is None:
                try:
                    while (piece := talk.next_input()) is not None:
                        await socket.send(piece)
                except ConnectionClosed:
                    talk.end_input()
                talk.take(await socket.recv())
    except (InvalidHandshake, ConnectionClosed, OSError) as error:
        raise _failure(settings, error) from error
    return talk.result


def _failure(settings: Settings, error: Exception) -> AgentBoxError:
    if isinstance(error, InvalidStatus):
        answer = error.response
        return error_of_answer(answer.status_code, bytes(answer.body or b""), answer.headers.get("x-request-id"))
    if isinstance(error, ConnectionClosed):
        # Of one message, which only the first can be.
        if error.rcvd is not None and error.rcvd.code == 1009:
            return AgentBoxError("too_large", "the command and its environment are too large: put them into a file")
        return AgentBoxError("unreachable", "the connection ended before the command did, so the command has been ended")
    return unreachable(settings.url, error)
