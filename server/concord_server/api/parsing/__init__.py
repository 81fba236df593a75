"""From requests to commands and queries: every bad field is named in one answer."""
