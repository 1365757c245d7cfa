from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from ._request import Request
from ._settings import Settings, wait_before_repeat
from .errors import error_of_answer, unreachable


class AsyncHttpTransport:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # A key must not be sent to the target of a redirect.
        self._http = httpx.AsyncClient(headers=settings.headers(), timeout=settings.timeout, limits=limits, follow_redirects=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def json(self, request: Request) -> Any:
        answer = await self._send(request)
        return answer.json() if answer.content else None

    async def bytes(self, request: Request) -> bytes:
        return (await self._send(request)).content

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        try:
            async with self._http.stream(**self._arguments(request), timeout=httpx.Timeout(self._settings.timeout, read=None)) as answer:
                if not answer.is_success:
                    raise error_of_answer(answer.status_code, await answer.aread(), answer.headers.get("x-request-id"))
                yield answer.aiter_lines()
        except httpx.TransportError as error:
            raise unreachable(self._settings.url, error) from error

    async def _send(self, request: Request) -> httpx.Response:
        for attempt in range(1, self._settings.attempts + 1):
            try:
                answer = await self._http.request(**self._arguments(request))
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
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _arguments(self, request: Request) -> dict[str, Any]:
        sent = {"content": request.content} if request.content is not None else {"json": request.body} if request.body is not None else {}
        url = f"{self._settings.url}{request.path}"
        return {"method": request.method, "url": url, "params": request.query_pairs(), "headers": request.sent_headers(), **sent}
