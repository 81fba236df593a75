"""How well predicates are proposed by meaning."""
