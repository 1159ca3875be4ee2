"""Many runs as one table: means, intervals, sizes, slopes."""
