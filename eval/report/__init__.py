"""The HTML reports of runs and of comparisons, each one self-contained file."""

from .page import check_output
from .runs import write_comparison, write_pages, write_report

__all__ = ["check_output", "write_comparison", "write_pages", "write_report"]
