"""The explorer: web pages that the node serves. The module `files` reads the files in `web`. The pages get their data over RPC."""
