"""Whether the program `eddy` begins at all."""

import subprocess
import sys

BEGIN = "import sys, runpy; sys._is_gil_enabled = lambda: {lock}; sys.argv[1:] = ['--version']; "
BEGIN += "runpy.run_module('streams', run_name='__main__')"


def test_a_python_without_its_lock_is_refused_with_a_sentence_and_any_other_is_not() -> None:
    refused, begun = (
        subprocess.run(
            [sys.executable, "-c", BEGIN.format(lock=lock)], capture_output=True, text=True, check=False
        )
        for lock in (False, True)
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("eddy: This Python runs without its global lock")
    assert "Traceback" not in refused.stderr
    assert (begun.returncode, begun.stderr) == (0, "")
