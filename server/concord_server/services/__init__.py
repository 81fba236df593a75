"""The use cases, one file each; they own the transaction.

Every use case is a class built once with its ports and called through ``execute``:

- ``reconcile.Reconcile.execute(context, command, idempotency) -> ReconcileResult | Replay``
- ``batch.BatchReconcile.execute(context, items) -> async iterator of ReconcileResult | Replay | ConcordError``
- ``facts.GetFact.execute(context, fact_id) -> FactDetails``
- ``facts.ListFacts.execute(context, where, order, after, size) -> Page[Fact]``
- ``statuses.UpdateFactStatus.execute(context, fact_id, status, reason, etag, idempotency) -> Fact | Replay``
- ``conflicts.GetConflict / ListConflicts / ResolveConflict``
- ``decisions.GetDecision.execute(context, decision_id) -> Decision``
"""
