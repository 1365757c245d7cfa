"""Server-sent events, and the stream of changes that is opened anew after a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import AgentBoxError

#: Seconds before the stream is opened anew, doubled with each failure.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0


@dataclass(frozen=True)
class Change:
    #: start, sandbox, sandbox-ended, pool, pool-deleted, env or env-deleted. After `start` earlier changes are unknown: list everything then.
    kind: str
    #: The object, or the names of the one that is gone.
    data: dict[str, Any]


class EventReader:
    """Turns lines into events, and knows the last one's id."""

    def __init__(self) -> None:
        self.seen: str | None = None
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> Iterator[Change]:
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return
        fields, self._fields = self._fields, {}
        self.seen = fields.get("id", self.seen)
        if "data" in fields:
            yield Change(fields.get("event", "message"), json.loads(fields["data"]))


def raise_if_final(error: AgentBoxError) -> None:
    """Without a valid key, or with a wrong request, another attempt is useless."""
    if error.status in (400, 401, 403, 404):
        raise error
