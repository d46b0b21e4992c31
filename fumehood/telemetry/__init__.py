"""How the service is doing, for those who run it: metrics, logs, traces. It is told plain facts and knows no face."""
