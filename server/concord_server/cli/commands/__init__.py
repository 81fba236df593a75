"""The commands, a file for each group; what they need is imported when they run."""
