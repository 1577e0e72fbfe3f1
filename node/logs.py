"""The node's log on stderr: coloured text on a terminal, JSON lines elsewhere. It must not know who logs."""

import logging
import sys
from typing import Any

import structlog


def configure_logs(level: int = logging.INFO) -> None:
    """Set up structlog, and route the standard library's logging, which libraries use, through it."""
    for_people = sys.stderr.isatty()
    first: list[Any] = [structlog.processors.add_log_level, structlog.processors.TimeStamper(fmt="iso", utc=True)]
    last: list[Any] = [structlog.dev.ConsoleRenderer()] if for_people else [structlog.processors.format_exc_info, json_renderer()]
    structlog.configure(
        processors=[*first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[without_meta, *last], foreign_pre_chain=first))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


def json_renderer() -> Any:
    """Return a processor that writes an event as a JSON object in one line."""
    return structlog.processors.JSONRenderer(ensure_ascii=False)
