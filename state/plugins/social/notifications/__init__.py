"""Notifications: `writing` adds them, `lists` and `texts` read them."""
