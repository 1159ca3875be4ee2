"""Compute metrics in self-contained folders, where polyprobe cannot be imported.

Each folder has its own process: `evaluate.load` of the folder, then its app.py as a script.
Standard input is JSON: {folder: keywords of the metric}. The last line of the output is JSON:
{folder: [result of the metric, [[of, figure, value] of the app's first example]]}.
"""

import json
import multiprocessing
import os
import runpy
import sys

from serve_spaces import Without


def run(folder, keywords):
    import evaluate

    result = evaluate.load(folder, keep_in_memory=True).compute(**keywords)
    os.chdir(folder)
    sys.path[0] = folder
    page = runpy.run_path("app.py")["PAGE"]
    read_text = sys.modules["sheet"].read_text
    output = page.compute({"": read_text(next(iter(page.examples.values())))})
    return result, [(entry.label, entry.name, entry.value) for entry in output.entries]


def main():
    sys.meta_path[:] = map(Without, sys.meta_path)
    import evaluate
    import plotly.graph_objects  # noqa: F401

    evaluate.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    cases = json.load(sys.stdin)
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as processes:
        found = processes.starmap(run, cases.items(), chunksize=1)
    print(json.dumps(dict(zip(cases, found, strict=True))))


if __name__ == "__main__":
    main()
