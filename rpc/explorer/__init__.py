"""The explorer: web pages that the node serves. `files` reads the files of `web`. The pages get their data over RPC."""
