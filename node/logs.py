"""The node's log on stderr: for people on a terminal, JSON lines elsewhere. It must not know who logs."""

import logging
import sys
from typing import Any

import structlog


def configure_logs(level: int = logging.INFO) -> None:
    """Set up structlog, and send what libraries log the same way."""
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
    """One JSON object a line; what JSON has no form for is shown as text."""
    return structlog.processors.JSONRenderer(ensure_ascii=False)
