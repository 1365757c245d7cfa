from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from ._request import Request
from ._settings import Settings, wait_before_repeat
from .errors import error_of_answer, unreachable


class HttpTransport:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # A key must not be sent to the target of a redirect.
        self._http = httpx.Client(headers=settings.headers(), timeout=settings.timeout, limits=limits, follow_redirects=False)

    def close(self) -> None:
        self._http.close()

    def json(self, request: Request) -> Any:
        answer = self._send(request)
        return answer.json() if answer.content else None

    def bytes(self, request: Request) -> bytes:
        return self._send(request).content

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[str]]:
        try:
            with self._http.stream(**self._arguments(request), timeout=httpx.Timeout(self._settings.timeout, read=None)) as answer:
                if not answer.is_success:
                    raise error_of_answer(answer.status_code, answer.read(), answer.headers.get("x-request-id"))
                yield answer.iter_lines()
        except httpx.TransportError as error:
            raise unreachable(self._settings.url, error) from error

    def _send(self, request: Request) -> httpx.Response:
        for attempt in range(1, self._settings.attempts + 1):
            try:
                answer = self._http.request(**self._arguments(request))
            except httpx.TransportError as error:
                pause = wait_before_repeat(self._settings, request, attempt, None, None)
                if pause is None:
                    raise unreachable(self._settings.url, error) from error
            else:
                if answer.is_success:
                    return answer
                pause = wait_before_repeat(self._settings, request, attempt, answer.status_code, answer.headers.get("retry-after"))
                if pause is None:
                    raise error_of_answer(answer.status_code, answer.content, answer.headers.get("x-request-id"))
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _arguments(self, request: Request) -> dict[str, Any]:
        sent = {"content": request.content} if request.content is not None else {"json": request.body} if request.body is not None else {}
        url = f"{self._settings.url}{request.path}"
        return {"method": request.method, "url": url, "params": request.query_pairs(), "headers": request.sent_headers(), **sent}
