"""Services of the process: errors and exit statuses, clocks, logs, output, memory, file locations."""
