"""From what the use cases answer to the messages of the contract."""
