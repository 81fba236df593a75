"""Reading statements from files: lines, times and the fields of JSON lines."""
