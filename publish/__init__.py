"""Publishing: push, install, export, harness tasks."""
