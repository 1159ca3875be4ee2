"""Published datasets: one package for each."""
