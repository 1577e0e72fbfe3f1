"""Operations and rows as Arrow columns."""
