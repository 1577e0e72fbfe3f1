"""SQL macros for queries. Each is declared once with its body for DuckDB; if Spark needs another body, that is declared too.

Amounts are exact: integers in the smallest unit, or decimals for display. Only reputations are floating-point numbers.
"""

from msgspec import Struct


class Macro(Struct, frozen=True):
    """A macro: its parameters with their types, its return type, help text and body. `spark` is the body for Spark if Spark needs another
    one.
    """

    name: str
    parameters: dict[str, str]
    returns: str
    help: str
    body: str
    spark: str = ""

    @property
    def signature(self) -> str:
        """The name with the parameters in parentheses."""
        return f"{self.name}({', '.join(self.parameters)})"


DIGITS = "CAST(abs(raw) AS STRING)"
LEADING = f"(log10(CAST(substr({DIGITS}, 1, 4) AS INT)) + CAST(0.00000001 AS DOUBLE))"
NEWEST = "(SELECT max_by({}, at_block) FROM vesting_prices WHERE at_block <= number)"

MACROS = (
    Macro(
        "coins",
        {"amount": "DECIMAL(19, 0)"},
        "DECIMAL(23, 3)",
        "an amount in the smallest unit as COIN or SBD, for example 1.234",
        "CAST(CAST(amount AS DECIMAL(19, 0)) * 0.001 AS DECIMAL(23, 3))",
    ),
    Macro(
        "vests",
        {"amount": "DECIMAL(19, 0)"},
        "DECIMAL(26, 6)",
        "an amount in the smallest unit as VESTS, for example 1.234567",
        "CAST(CAST(amount AS DECIMAL(19, 0)) * 0.000001 AS DECIMAL(26, 6))",
    ),
    Macro(
        "amount_text",
        {"amount": "BIGINT", "symbol": "STRING"},
        "STRING",
        "an amount with its symbol, for example 1.234 SBD; user tokens in the smallest unit",
        "CASE WHEN symbol = 'VESTS' THEN CAST(vests(amount) AS STRING) WHEN symbol LIKE '@@%' THEN CAST(amount AS STRING)"
        " ELSE CAST(coins(amount) AS STRING) END || ' ' || symbol",
    ),
    Macro(
        "coin_of_vests",
        {"shares": "BIGINT", "number": "BIGINT"},
        "BIGINT",
        "the value of VESTS in COIN (smallest unit) at a block, by the newest vesting price up to it; null before the first",
        f"CAST(CAST(shares AS HUGEINT) * {NEWEST.format('coin')} // {NEWEST.format('vests')} AS BIGINT)",
        f"CAST(shares AS DECIMAL(19, 0)) * {NEWEST.format('coin')} DIV {NEWEST.format('vests')}",
    ),
    Macro(
        "reputation",
        {"raw": "BIGINT"},
        "DOUBLE",
        "the displayed reputation: 25 for a new account, 9 more for ten times the raw value",
        "round(25 + CASE WHEN raw = 0 THEN 0 ELSE sign(raw) * 9 *"
        f" greatest(length({DIGITS}) - 10 + {LEADING} - floor({LEADING}), 0) END, 2)",
    ),
    Macro(
        "percent",
        {"part": "DECIMAL(25, 0)", "whole": "DECIMAL(25, 0)"},
        "DECIMAL(9, 2)",
        "a part in percent of the whole, with two decimals; null if the whole is 0",
        "CAST((CAST(part AS HUGEINT) * 20000 + whole) // (2 * CAST(nullif(whole, 0) AS HUGEINT)) * 0.01 AS DECIMAL(9, 2))",
        "CAST(((part * 20000 + whole) DIV (2 * nullif(whole, 0))) * 0.01 AS DECIMAL(9, 2))",
    ),
    Macro(
        "seconds_between",
        {"earlier": "TIMESTAMP", "later": "TIMESTAMP"},
        "BIGINT",
        "the seconds between two times",
        "date_diff('second', earlier, later)",
        "unix_timestamp(later) - unix_timestamp(earlier)",
    ),
    Macro(
        "json_text",
        {"document": "STRING", "path": "STRING"},
        "STRING",
        "the value in a JSON string at a path, for example $[1].following; null if there is none",
        "CASE WHEN json_valid(document) THEN json_extract_string(document, path) END",
        "get_json_object(document, path)",
    ),
    Macro("first_of", {"names": "ARRAY<STRING>"}, "STRING", "the first string in a list; null if it is empty", "names[1]", "get(names, 0)"),
)


def macro(declared: Macro) -> str:
    """Return the statement that creates a macro in DuckDB."""
    return f"CREATE MACRO {declared.signature} AS {declared.body}"
