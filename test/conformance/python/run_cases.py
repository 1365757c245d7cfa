"""
Runs the cases of a suite with the SDK that is installed.

run_cases.py SUITE list        what there is, as one JSON object a line: name, and needs; needs no SDK
run_cases.py SUITE sync|async [ability…]  runs all but those that need one of the abilities, and prints one JSON object a line: name, and error or skipped

- harness.py: what cases are written with, - build_cases.py, command_cases.py, file_cases.py, host_cases.py, network_cases.py,
  sandbox_cases.py, volume_cases.py: the suite `e2b`,
- interpreter_cases.py: the suite `e2b_code_interpreter`. A suite has the name of the module that it is about.
"""

import asyncio
import importlib
import json
import sys
import traceback

from harness import CASES, NotInThisVersion, Use, done

SUITES = {
    "e2b": ("build_cases", "command_cases", "file_cases", "host_cases", "network_cases", "sandbox_cases", "volume_cases"),
    "e2b_code_interpreter": ("interpreter_cases",),
}

PATIENCE = 60


async def outcome(use, run):
    try:
        await asyncio.wait_for(run(use), PATIENCE)
        return {}
    except NotInThisVersion as reason:
        return {"skipped": str(reason)}
    except BaseException:
        return {"error": traceback.format_exc()[-3000:]}
    finally:
        await use.end(use.made)
        use.made.clear()


async def main(suite, face):
    use = Use(importlib.import_module(suite), face == "async")
    use.sandbox = await done(use.Sandbox.create(timeout=600))
    try:
        for name, _needs, run in CASES:
            print(json.dumps({"name": name, **await outcome(use, run)}), flush=True)
    finally:
        await use.end([use.sandbox])


_, suite, wish, *without = sys.argv
for name in SUITES[suite]:
    importlib.import_module(name)
CASES[:] = [one for one in CASES if one[1] not in without]
if wish == "list":
    for name, needs, _run in CASES:
        print(json.dumps({"name": name, **({"needs": needs} if needs else {})}))
else:
    asyncio.run(main(suite, wish))
