"""A request, and what sends it. The generated operations know nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote


@dataclass(frozen=True)
class Request:
    method: str
    #: From /v1 on, already escaped.
    path: str
    #: None is left out; of a list each item is sent.
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Any = None
    content: bytes | None = None

    def query_pairs(self) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        for name, value in self.query.items():
            values = [] if value is None else value if isinstance(value, list) else [value]
            pairs.extend((name, _text(one)) for one in values)
        return pairs

    def sent_headers(self) -> dict[str, str]:
        given = {name: value for name, value in self.headers.items() if value is not None}
        return {"content-type": "application/octet-stream", **given} if self.content is not None else given

    @property
    def may_be_repeated(self) -> bool:
        """Whether a second one does no more than the first, so that a lost answer can be asked for again."""
        return self.method in ("GET", "PUT", "DELETE") or self.headers.get("idempotency-key") is not None


def quoted(part: object) -> str:
    return quote(str(part), safe="")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


#: The lines of an answer that is read as it comes.
OpenStream = AbstractContextManager[Iterator[str]]
AsyncOpenStream = AbstractAsyncContextManager[AsyncIterator[str]]


class Transport(Protocol):
    def json(self, request: Request) -> Any: ...
    def bytes(self, request: Request) -> bytes: ...
    def stream(self, request: Request) -> OpenStream: ...


class AsyncTransport(Protocol):
    async def json(self, request: Request) -> Any: ...
    async def bytes(self, request: Request) -> bytes: ...
    def stream(self, request: Request) -> AsyncOpenStream: ...
