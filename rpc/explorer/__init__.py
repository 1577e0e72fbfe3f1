"""The explorer: web pages that the node serves. `files` serves the files of `web`; the pages get their data by RPC."""
