"""What outlives the service: keys, the audit log, answers to idempotent calls. The one place that knows SQLAlchemy.

It is imported by the service and by the commands about it alone: ``check`` and ``run`` must not pay for it.
"""
