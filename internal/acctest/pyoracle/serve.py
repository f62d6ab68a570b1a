"""Runs the other scripts in one long-lived process, to save their start: one
request a line on standard input, {"script": "fluss_scan.py", "arguments": {…}},
one answer a line on standard output.
"""
import contextlib
import json
import os
import runpy
import sys
import traceback

import common

mains = {}


def main_of(script):
    """A script that is run calls common.run with its main function."""
    if script not in mains:
        common.run = lambda main: mains.setdefault(script, main)
        runpy.run_path(os.path.join(os.path.dirname(__file__), script), run_name="__main__")
    return mains[script]


def serve():
    out = sys.stdout
    for line in sys.stdin:
        request = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                answer = main_of(request["script"])(request["arguments"])
        except Exception as e:  # as common.run does
            traceback.print_exc()
            answer = {"error": f"{type(e).__name__}: {e}", "code": getattr(e, "error_code", 0)}
        json.dump(answer, out, ensure_ascii=False)
        out.write("\n")
        out.flush()


serve()
common.leave()
