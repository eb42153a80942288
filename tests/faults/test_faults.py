"""The list of faults keeps up with the library: every fault can be put in. `run.py` does that."""

import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def test_every_fault_can_be_put_in():
    faults = tomllib.loads((HERE / "faults.toml").read_text(encoding="utf-8"))["fault"]
    assert len({fault["name"] for fault in faults}) == len(faults) > 40
    for fault in faults:
        text = (HERE.parents[1] / fault["file"]).read_text(encoding="utf-8")
        assert text.count(fault["old"]) == 1, (
            f"{fault['name']}: adapt the text that stands in {fault['file']}"
        )
        assert fault["new"] != fault["old"]
        files = [test.partition("::")[0] for test in fault["tests"].split()]
        assert all((HERE.parents[1] / file).exists() for file in files), fault["name"]
