"""Arguments as the API takes them. Both faces use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from . import types as t
from .commands import Command, Listener, span
from .errors import AgentBoxError


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def command_of(
    command: str | Sequence[str],
    stdin: str | bytes,
    options: Mapping[str, Any],
    timeout: float | str | None,
    listeners: tuple[Listener | None, Listener | None],
) -> Command:
    words = ["sh", "-c", command] if isinstance(command, str) else list(command)
    given = without_none({**options, "timeout": None if timeout is None else span(timeout)})
    return Command(words, stdin.encode() if isinstance(stdin, str) else stdin, given, *listeners)


def sandbox_of(pool: str, options: Mapping[str, Any]) -> t.CreateSandbox:
    """`idle_timeout` is idleTimeout; numbers of seconds are spans."""
    unknown = sorted(set(options) - set(_create_options))
    if unknown:
        raise TypeError(f"create has no option {unknown[0]}; there are {', '.join(sorted(_create_options))}")
    fields = {_create_options[name]: span(value) if name in _spans else value for name, value in options.items() if value is not None}
    return cast(t.CreateSandbox, {"poolName": pool, **fields})


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


_create_options = {_snake(name): name for name in t.CreateSandbox.__annotations__ if name != "poolName"}
_spans = {"startup_timeout", "idle_timeout", "lifetime"}


def timeouts_of(idle_timeout: float | str | None, lifetime: float | str | None, only_later: bool) -> t.ChangeTimeouts:
    spans = {"idleTimeout": idle_timeout, "lifetime": lifetime}
    wish = {name: span(value) for name, value in spans.items() if value is not None}
    return cast(t.ChangeTimeouts, {**wish, **({"onlyLater": True} if only_later else {})})


def checkpoint_of(alias: str | None, keep_running: bool | None, ttl: str | None) -> t.TakeCheckpoint:
    return cast(t.TakeCheckpoint, without_none({"alias": alias, "keepRunning": keep_running, "ttl": ttl}))


def fork_of(count: int, lifetime: float | str | None) -> t.ForkSandbox:
    return cast(t.ForkSandbox, without_none({"count": count, "lifetime": None if lifetime is None else span(lifetime)}))


def error_of_failures(failures: Sequence[Mapping[str, Any]]) -> AgentBoxError:
    first = failures[0]
    return AgentBoxError(first["code"], f"{len(failures)} of the forks could not be made: {first['message']}", problem={"failures": list(failures)})
