"""The HTML report of runs: one self-contained file."""

from .page import write_pages, write_report

__all__ = ["write_pages", "write_report"]
