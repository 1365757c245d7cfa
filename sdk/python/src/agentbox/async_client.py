"""The server, asynchronously."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any, Self

from . import types as t
from ._async_transport import AsyncHttpTransport
from ._settings import settings_of
from ._watching import FIRST_PAUSE, LONGEST_PAUSE, Change, EventReader, raise_if_final
from ._wishes import sandbox_of, without_none
from .api import AsyncApi
from .async_sandbox import AsyncSandbox
from .errors import AgentBoxError


class AsyncAgentBox:
    """`url` and `api_key` are AGENTBOX_API_URL and AGENTBOX_API_KEY of the environment when left out.

    `api` has every operation of the server. A request that may be repeated is sent up to `attempts` times, and a create never makes a second sandbox.
    """

    def __init__(self, url: str | None = None, api_key: str | None = None, *, timeout: float = 600, attempts: int = 4) -> None:
        self._settings = settings_of(url, api_key, timeout, attempts)
        self._http = AsyncHttpTransport(self._settings)
        self.api = AsyncApi(self._http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.close()

    async def create(self, pool: str, **options: Any) -> AsyncSandbox:
        """A sandbox of an Env or a pool, when it can be used. Options are the fields of `types.CreateSandbox`, such as `lifetime=600` or `env_vars={…}`."""
        created = await self.api.create_sandbox(sandbox_of(pool, options), idempotency_key=str(uuid.uuid4()))
        return self._handle(created)

    async def create_many(self, count: int, pool: str, *, at_least: int | None = None, **options: Any) -> list[AsyncSandbox]:
        """Several equal ones: all, or at least `at_least` of them, or AgentBoxError and none."""
        wish = without_none({"count": count, "atLeast": at_least, "sandbox": sandbox_of(pool, options)})
        answer = await self.api.create_sandboxes(wish, idempotency_key=str(uuid.uuid4()))  # type: ignore[arg-type]
        return [self._handle(one) for one in answer["sandboxes"]]

    def sandbox(self, sandbox_id: str) -> AsyncSandbox:
        return AsyncSandbox(self.api, self._settings, sandbox_id)

    async def history(self, **filters: Any) -> AsyncIterator[t.Sandbox]:
        """Live and ended sandboxes, newest first, page by page. Filters are those of `api.list_sandboxes`."""
        cursor: str | None = None
        while True:
            page = await self.api.list_sandboxes(**{"limit": 1000, **filters, "cursor": cursor})
            for sandbox in page["sandboxes"]:
                yield sandbox
            cursor = page.get("next")
            if cursor is None:
                return

    async def watch(self) -> AsyncIterator[Change]:
        """Changes of the caller's sandboxes, pools and Envs as they happen. After a failure it goes on where it was."""
        reader = EventReader()
        pause = FIRST_PAUSE
        while True:
            try:
                async with self.api.stream_changes(last_event_id=reader.seen) as lines:
                    async for line in lines:
                        for change in reader.take(line):
                            pause = FIRST_PAUSE
                            yield change
            except AgentBoxError as error:
                raise_if_final(error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _handle(self, created: t.CreatedSandbox) -> AsyncSandbox:
        return AsyncSandbox(self.api, self._settings, created["sandbox"]["sandboxId"], created)
