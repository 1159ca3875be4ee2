"""Pictures for papers: the data of heat maps and charts, and their SVG, PDF and PNG files."""

ORDERS = ("given", "similarity", "family", "script")
LABELS = ("codes", "names")
