"""
What a user's resolver does, for one process: names under a domain are at one address (AGENTBOX_LOCAL_NAMES=domain=address).
Python loads this by itself when the folder is in PYTHONPATH.
"""

import os
import socket

_domain, _, _address = os.environ.get("AGENTBOX_LOCAL_NAMES", "").partition("=")
_lookup = socket.getaddrinfo


def _local(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    is_ours = name and (name == _domain or name.endswith(f".{_domain}"))
    return _lookup(_address if is_ours else host, *rest, **more)


if _address:
    socket.getaddrinfo = _local
