"""The explorer: pages for people, served by the node itself. `files` reads what `web` holds; the browser does the rest by RPC."""
