"""The study file: opening it, the ledger's group commit, locks, queries for screens, exports, imports."""
