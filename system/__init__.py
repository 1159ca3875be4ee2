"""Services of the machine: errors, files, hashes, progress, devices, downloads."""
