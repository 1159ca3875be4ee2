"""Counts of a dataset's defects; `audit_tables` accepts any tables of our schema."""

from polyprobe.builder.sources.bmlama.files import is_raw, read_raw

from .audit import Audit, LanguageAudit, audit_tables
from .page import render_page
from .report import audit_table, to_json

__all__ = [
    "Audit",
    "LanguageAudit",
    "audit_table",
    "audit_tables",
    "is_raw",
    "read_raw",
    "render_page",
    "to_json",
]
