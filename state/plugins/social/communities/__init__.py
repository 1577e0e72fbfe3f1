"""Communities: `payloads` checks what an operation holds, `actions` applies it, `lists` reads."""
