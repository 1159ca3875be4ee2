"""Pictures for papers: what a heat map or a chart shows, and its SVG, PDF or PNG file."""

ORDERS = ("given", "similarity", "family", "script")
LABELS = ("codes", "names")
