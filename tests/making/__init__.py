"""What several tests need: datasets, runs, models and trainings, made on disk."""
