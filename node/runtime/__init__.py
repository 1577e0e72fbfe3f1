"""Process-level services: errors and exit statuses, clocks, logs, output, memory, file locations."""
