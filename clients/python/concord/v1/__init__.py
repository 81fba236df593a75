"""Generated stubs of the ``concord.v1`` services; ``scripts/generate_protos.py`` writes them."""
