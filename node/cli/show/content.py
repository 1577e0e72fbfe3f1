"""`coind show post` and `posts`."""

from typing import Any

from node.cli.remote import Remote
from node.cli.show.reply_fields import basis_points, brief, member, require_found, time_or_never
from node.runtime.errors import NodeError
from node.runtime.output import clean_lines, say, say_line, write_pairs, write_table

REPLIES = "reply_list"


def ask_post(remote: Remote, place: str) -> Any:
    """Return the post or comment at `place` (AUTHOR/PERMLINK) with its replies. Raises NodeError."""
    author, slash, permlink = place.lstrip("@").partition("/")
    if not (author and slash and permlink):
        raise NodeError(f"{place!r} is not a post. Expected AUTHOR/PERMLINK, for example alice/hello.")
    post = remote.call("condenser_api.get_content", [author, permlink])
    require_found(post.get("author"), f"post {author}/{permlink}")
    post[REPLIES] = remote.call("condenser_api.get_content_replies", [author, permlink])
    return post


def write_post(remote: Remote, post: Any) -> None:
    """Print a post: its payout, text, votes and replies."""
    title = post["title"] or f"reply to {post['parent_author']}/{post['parent_permlink']}"
    pairs: list[tuple[str, object]] = [
        ("author", post["author"]),
        ("permlink", post["permlink"]),
        ("category", post.get("category", "")),
        ("created", post["created"]),
    ]
    if post["last_update"] != post["created"]:
        pairs.append(("edited", post["last_update"]))
    pairs.append(("votes", f"{post['net_votes']} net"))
    if time_or_never(post["cashout_time"]) == "never":
        paid = f"{post['total_payout_value']} to authors, {post['curator_payout_value']} to curators"
        pairs.append(("paid", paid))
    else:
        pairs.append(("pending", f"{post.get('pending_payout_value', '')}, paid on {post['cashout_time']}"))
    debt_part = int(member(post, "percent_coin_dollars", remote, 0)) // 2
    pairs.append(("payout", f"{basis_points(debt_part)} in {remote.spec.debt_symbol}, the rest powered up"))
    for each in post.get("beneficiaries", []):
        pairs.append(("beneficiary", f"{each['account']} {basis_points(each['weight'])}"))
    if post.get("json_metadata"):
        pairs.append(("metadata", post["json_metadata"]))
    write_pairs(pairs, title=title)
    say("")
    for line in clean_lines(post["body"]):
        say_line(line)
    if post.get("active_votes"):
        say("")
        rows = [(vote["voter"], basis_points(vote["percent"]), vote["rshares"], vote["time"]) for vote in post["active_votes"]]
        write_table(["voter", ">weight", ">rshares", "time"], rows)
    if post[REPLIES]:
        say("")
        write_table(["reply", "created", ">votes", "text"], [reply_row(reply) for reply in post[REPLIES]])


def reply_row(reply: dict[str, Any]) -> list[object]:
    """Return the table row of a reply."""
    return [f"{reply['author']}/{reply['permlink']}", reply["created"], reply["net_votes"], brief(reply["body"])]


def ask_posts(remote: Remote, by: str, tag: str, count: int) -> Any:
    """Return up to `count` posts, ordered by `by`. Raises NodeError."""
    if by == "blog" and not tag:
        raise NodeError("--by blog needs the name of an account, for example --tag alice")
    return remote.call(f"condenser_api.get_discussions_by_{by}", [{"tag": tag, "limit": count}])


def write_posts(remote: Remote, posts: Any) -> None:
    """Print posts, one per line."""
    rows = [
        (
            f"{post['author']}/{post['permlink']}",
            post["created"],
            post["net_votes"],
            post["children"],
            post.get("pending_payout_value", ""),
            brief(post["title"]),
        )
        for post in posts
    ]
    write_table(
        ["post", "created", ">votes", ">replies", ">pending", "title"],
        rows,
        empty="no posts; lists have only those with tags in their json_metadata",
    )
