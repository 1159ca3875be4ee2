"""Heat maps and charts of Spaces, pages and files: what they show, and their drawing as SVG."""
