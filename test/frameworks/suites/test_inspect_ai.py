"""Inspect: the conformance checks of its sandboxes, on our provider."""

from collections.abc import AsyncIterator

import pytest
from agentbox.frameworks.inspect_ai import AgentBoxSandboxEnvironment
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox.self_check import *  # noqa: F403


@pytest.fixture
async def sandbox_env() -> AsyncIterator[SandboxEnvironment]:
    environment = await AgentBoxSandboxEnvironment.create(None, {})
    try:
        yield environment
    finally:
        await environment.close()
