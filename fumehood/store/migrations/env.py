"""What alembic runs to bring a database up to date. The connection and its transaction are the store's."""

from __future__ import annotations

from alembic import context

from fumehood.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot change a column in place
    transactional_ddl=True,
)
context.run_migrations()
