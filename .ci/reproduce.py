"""Compute the quick numbers of the papers from original files that are served over HTTP: MIRROR REPORT."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "tests/helpers")
import mirror

with mirror.serve(mirror.folder(Path(sys.argv[1]))) as server:
    os.environ["KNNCCV_DATA_URL"] = server.url
    module = [sys.executable, "-P", "-m", "knnccv_papers"]
    asked = ["reproduce", "all", "--quick", "--out", sys.argv[2]]
    subprocess.run([*module, *asked], check=True, stdout=subprocess.DEVNULL)
