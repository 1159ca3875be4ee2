"""The run on disk: settings, folder, protocol, sample."""
