"""AgentBox: isolated sandboxes for AI agents, out of warm pools."""

from . import types
from ._watching import Change
from .api import VERSION, Api, AsyncApi
from .async_client import AsyncAgentBox
from .async_sandbox import AsyncSandbox
from .client import AgentBox
from .commands import CommandResult
from .errors import AgentBoxError
from .sandbox import Sandbox

__version__ = VERSION
__all__ = ["AgentBox", "AgentBoxError", "Api", "AsyncAgentBox", "AsyncApi", "AsyncSandbox", "Change", "CommandResult", "Sandbox", "types"]
