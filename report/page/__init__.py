"""The HTML reports of runs and of comparisons, each one self-contained file."""

from .runs import write_comparison, write_pages, write_report

__all__ = ["write_comparison", "write_pages", "write_report"]
