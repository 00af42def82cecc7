"""Every metric, declared once: the catalogue by subject, and Prometheus's text."""
