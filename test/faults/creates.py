"""Creates sandboxes with E2B's SDK over a network that breaks, and kills them: `creates.py COUNT THREADS`. Prints a line of JSON for each."""

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from e2b import Sandbox

count, threads = int(sys.argv[1]), int(sys.argv[2])
attempts = 60
lock = threading.Lock()


def insist(action):
    """What the SDK gives up is asked for again, as a careful program does; the SDK itself repeats what a status allows."""
    for left in range(attempts, 0, -1):
        try:
            return action()
        except Exception:
            if left == 1:
                raise
            time.sleep(0.02)


def one(number: int) -> None:
    said = {"number": number}
    try:
        key = f"create-{number}"
        sandbox = insist(lambda: Sandbox.create("base", timeout=3600, metadata={"number": str(number)}, idempotency_key=key))
        said["id"] = sandbox.sandbox_id
        insist(lambda: Sandbox.kill(sandbox.sandbox_id))
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {error}"
    with lock:
        print(json.dumps(said), flush=True)


with ThreadPoolExecutor(threads) as pool:
    list(pool.map(one, range(count)))
