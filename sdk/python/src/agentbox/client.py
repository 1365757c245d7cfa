"""The server."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any, Self

from . import types as t
from ._settings import settings_of
from ._sync_transport import HttpTransport
from ._watching import FIRST_PAUSE, LONGEST_PAUSE, Change, EventReader, raise_if_final
from ._wishes import sandbox_of, without_none
from .api import Api
from .errors import AgentBoxError
from .sandbox import Sandbox


class AgentBox:
    """`url` and `api_key` are AGENTBOX_API_URL and AGENTBOX_API_KEY of the environment when left out.

    `api` has every operation of the server. A request that may be repeated is sent up to `attempts` times, and a create never makes a second sandbox.
    """

    def __init__(self, url: str | None = None, api_key: str | None = None, *, timeout: float = 600, attempts: int = 4) -> None:
        self._settings = settings_of(url, api_key, timeout, attempts)
        self._http = HttpTransport(self._settings)
        self.api = Api(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def create(self, pool: str, **options: Any) -> Sandbox:
        """A sandbox of an Env or a pool, when it can be used. Options are the fields of `types.CreateSandbox`, such as `lifetime=600` or `env_vars={…}`."""
        created = self.api.create_sandbox(sandbox_of(pool, options), idempotency_key=str(uuid.uuid4()))
        return self._handle(created)

    def create_many(self, count: int, pool: str, *, at_least: int | None = None, **options: Any) -> list[Sandbox]:
        """Several equal ones: all, or at least `at_least` of them, or AgentBoxError and none."""
        wish = without_none({"count": count, "atLeast": at_least, "sandbox": sandbox_of(pool, options)})
        answer = self.api.create_sandboxes(wish, idempotency_key=str(uuid.uuid4()))  # type: ignore[arg-type]
        return [self._handle(one) for one in answer["sandboxes"]]

    def sandbox(self, sandbox_id: str) -> Sandbox:
        return Sandbox(self.api, self._settings, sandbox_id)

    def history(self, **filters: Any) -> Iterator[t.Sandbox]:
        """Live and ended sandboxes, newest first, page by page. Filters are those of `api.list_sandboxes`."""
        cursor: str | None = None
        while True:
            page = self.api.list_sandboxes(**{"limit": 1000, **filters, "cursor": cursor})
            yield from page["sandboxes"]
            cursor = page.get("next")
            if cursor is None:
                return

    def watch(self) -> Iterator[Change]:
        """Changes of the caller's sandboxes, pools and Envs as they happen. After a failure it goes on where it was."""
        reader = EventReader()
        pause = FIRST_PAUSE
        while True:
            try:
                with self.api.stream_changes(last_event_id=reader.seen) as lines:
                    for line in lines:
                        for change in reader.take(line):
                            pause = FIRST_PAUSE
                            yield change
            except AgentBoxError as error:
                raise_if_final(error)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _handle(self, created: t.CreatedSandbox) -> Sandbox:
        return Sandbox(self.api, self._settings, created["sandbox"]["sandboxId"], created)
