"""The process and its surroundings: errors and exit statuses, clocks, logs, output, memory, the places of files."""
