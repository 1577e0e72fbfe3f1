"""Communities: `community_payloads` checks what an operation holds, `actions` applies it, `lists` reads."""
