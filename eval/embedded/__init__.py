"""The trained model that `polyprobe demo` runs, and the script that trains it."""
