"""Judges that ask a language model, and which judge a project's statements go to."""
