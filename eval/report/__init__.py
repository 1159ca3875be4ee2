"""The HTML report: one file that stands alone."""

from .page import write_report

__all__ = ["write_report"]
