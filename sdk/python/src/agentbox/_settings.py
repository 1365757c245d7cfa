"""Where the server is, and when a request is repeated."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

from ._request import Request
from .api import VERSION

#: Answers of a server or a proxy that is busy or away for a moment.
_passing = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Settings:
    url: str
    api_key: str
    #: Seconds without any byte of an answer. A create waits for its place on the server, so this is long.
    timeout: float
    attempts: int

    def headers(self) -> dict[str, str]:
        return {"agentbox-api-key": self.api_key, "user-agent": f"agentbox-python/{VERSION}"}

    def socket_url(self, path: str) -> str:
        return f"ws{self.url.removeprefix('http')}{path}"


def settings_of(url: str | None, api_key: str | None, timeout: float, attempts: int) -> Settings:
    found_url = url or os.environ.get("AGENTBOX_API_URL")
    found_key = api_key or os.environ.get("AGENTBOX_API_KEY")
    if not found_url:
        raise ValueError("the address of the server is missing: give url, or set AGENTBOX_API_URL, such as http://127.0.0.1:8099")
    if not found_url.startswith(("http://", "https://")):
        raise ValueError(f"url: '{found_url}' does not begin with http:// or https://")
    if not found_key:
        raise ValueError("the API key is missing: give api_key, or set AGENTBOX_API_KEY")
    if attempts < 1:
        raise ValueError(f"attempts: {attempts} is less than 1")
    return Settings(found_url.rstrip("/"), found_key, timeout, attempts)


def wait_before_repeat(settings: Settings, request: Request, attempt: int, status: int | None, retry_after: str | None) -> float | None:
    """Seconds until the request is sent again; None if it is not. `status` is None when there was no answer."""
    if attempt >= settings.attempts or not request.may_be_repeated:
        return None
    if status is not None and status not in _passing:
        return None
    try:
        said = float(retry_after or 0)
    except ValueError:
        said = 0.0
    # A server that asks for a longer pause is answered by the caller, which knows how long it can wait.
    if said > 10:
        return None
    backoff: float = 0.2 * 2 ** (attempt - 1)
    return max(said, backoff) * random.uniform(1, 1.25)
