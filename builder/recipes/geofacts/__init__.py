"""geofacts: the embedded dataset."""
