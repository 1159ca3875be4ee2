"""The datasets that polyprobe publishes: one package each."""
