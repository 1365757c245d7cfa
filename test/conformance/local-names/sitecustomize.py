"""Names under localhost are this machine, as a user's resolver says it; Python loads this by itself when the folder is in PYTHONPATH."""

import socket

_lookup = socket.getaddrinfo


def _local(host, *rest, **more):
    name = host.decode() if isinstance(host, bytes) else host
    return _lookup("127.0.0.1" if name and name.endswith(".localhost") else host, *rest, **more)


socket.getaddrinfo = _local
