"""Notifications: `writer` adds them, `lists` reads them, `texts` formats them."""
