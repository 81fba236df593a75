"""Client library of Concord, the fact reconciliation service."""
