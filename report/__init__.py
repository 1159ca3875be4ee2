"""What people read: tables, pages and pictures of the numbers of analysis."""
