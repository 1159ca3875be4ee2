"""X-FaKT: questions about countries in their languages."""
