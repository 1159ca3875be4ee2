"""Compute metrics in self-contained folders, where polyprobe cannot be imported.

Each folder has its own process: `evaluate.load` of the folder, then its app.py as a script in a
copy called `app`, as the Hub runs it. There the function behind the button computes every example.
Standard input is JSON: {folder: keywords of the metric}. The last line of the output is JSON:
{folder: [result of the metric, [[of, figure, value] of each row of the table] of each example]}.
"""

import json
import multiprocessing
import os
import runpy
import shutil
import sys
from pathlib import Path

from serve_spaces import Without


def run(folder, keywords):
    import evaluate

    result = evaluate.load(folder, keep_in_memory=True).compute(**keywords)
    app = Path(folder).parent / "spaces" / Path(folder).name / "app"
    shutil.copytree(folder, app)
    os.chdir(app)
    sys.path.insert(0, str(app))
    page = runpy.run_path("app.py")["PAGE"]
    blocks = sys.modules["page"].build(page)
    [button] = [f for f in blocks.fns.values() if f.api_name == "compute"]
    choices = [allowed[0] for allowed in page.choices.values()]
    tables = [press(button.fn, text, choices) for text in page.examples.values()]
    return result, tables


def press(compute, text, choices):
    """Return the rows of the table of figures that the button shows for a text."""
    _, _, _, table, _ = compute(text, None, *choices)
    return table.data[["of", "figure", "value"]].values.tolist()


def main():
    sys.meta_path[:] = map(Without, sys.meta_path)
    del sys.path[0]  # this folder
    import evaluate
    import gradio  # noqa: F401

    evaluate.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    cases = json.load(sys.stdin)
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as processes:
        found = processes.starmap(run, cases.items(), chunksize=1)
    print(json.dumps(dict(zip(cases, found, strict=True))))


if __name__ == "__main__":
    main()
