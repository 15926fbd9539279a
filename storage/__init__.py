"""The study file: tables, views, migrations, the ledger's group commit, locks, queries for screens, exports, imports."""
