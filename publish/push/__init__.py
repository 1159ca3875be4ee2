"""What `polyprobe push` does: files, their checks, what the Hub has of them, one commit."""
