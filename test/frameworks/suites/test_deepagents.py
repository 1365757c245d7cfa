"""LangChain Deep Agents: the standard tests of its sandbox backends, on E2B's provider."""

from collections.abc import Iterator

import pytest
from deepagents.backends.protocol import SandboxBackendProtocol
from e2b import Sandbox
from langchain_e2b import E2BSandbox
from langchain_tests.integration_tests import SandboxIntegrationTests


class TestAgentBox(SandboxIntegrationTests):
    @pytest.fixture(scope="class")
    def sandbox(self) -> Iterator[SandboxBackendProtocol]:
        sandbox = Sandbox.create(timeout=1800)
        try:
            yield E2BSandbox(sandbox=sandbox)
        finally:
            sandbox.kill()
