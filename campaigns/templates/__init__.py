"""Jinja2 templates of what the exporter writes. They hold text only; what fills them is in ``campaigns.export_*``."""
