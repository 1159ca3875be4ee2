"""Run a command and print its peak resident memory in bytes and its seconds: `peak.py COMMAND`.

A process of its own, and one that imports next to nothing: on Linux a child's figure begins with
the memory of the process that started it.
"""

import json
import os
import subprocess
import sys
import time

begin = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - begin
print(json.dumps({"peak": usage.ru_maxrss * 1024, "seconds": seconds, "status": status}))
