"""How a request fails."""

from __future__ import annotations

import json
from typing import Any


class AgentBoxError(Exception):
    """An error answer of the API, or no answer (code `unreachable`). Decide by `code`, never by text."""

    def __init__(self, code: str, message: str, *, status: int = 0, problem: dict[str, Any] | None = None, request_id: str | None = None) -> None:
        super().__init__(message)
        #: One of the codes of the API, or `unreachable`.
        self.code = code
        #: 0 when there was no answer.
        self.status = status
        #: The whole problem of the answer: `field`, `limit`, `available` and others, where the server says them.
        self.problem = problem or {}
        #: The id of the request in the server's log.
        self.request_id = request_id

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next attempt."""
        return self.problem.get("retryAfterSeconds")


def error_of_answer(status: int, body: bytes, request_id: str | None) -> AgentBoxError:
    """From problem details; any other answer, of a proxy for example, is described by its status."""
    try:
        problem = json.loads(body)
        return AgentBoxError(problem["code"], problem["detail"], status=status, problem=problem, request_id=request_id)
    except (ValueError, TypeError, KeyError):
        return AgentBoxError("internal", f"the server answered {status} without problem details", status=status, request_id=request_id)


def unreachable(url: str, error: Exception) -> AgentBoxError:
    reason = str(error) or type(error).__name__
    return AgentBoxError("unreachable", f"the server at {url} cannot be reached: {reason}")
