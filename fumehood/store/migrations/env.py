"""What alembic runs to bring a database up to date. The connection and its transaction are the store's."""

from __future__ import annotations

from alembic import context

from fumehood.store.tables import metadata


def run() -> None:
    """Run the steps that are due."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_as_batch=True,  # SQLite cannot change a column in place
        transactional_ddl=True,
    )
    context.run_migrations()


if hasattr(context, "config"):  # there only while alembic runs this; imported by anybody else it does nothing
    run()
