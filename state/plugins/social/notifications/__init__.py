"""Notifications: `writer` adds them, `lists` and `texts` read them."""
