"""Blogs and feeds compared with a list of all entries, after random posts, reblogs, deletions and undos."""

from collections.abc import Iterator
from random import Random

import pytest

from state.chain.chain import Chain
from state.plugins.follow import feeds
from state.plugins.follow.feeds import BlogEntry, Blogs
from state.plugins.follow.plugin import FOLLOW
from tests.helpers.chains import add_account, add_comment, chain_at, move_to

NAMES = ("amy", "bob", "cid")


def blogs_of(chain: Chain) -> Blogs:
    return FOLLOW.of(chain.state).blogs


def chain_of_bloggers() -> Chain:
    chain = chain_at(plugins=[FOLLOW.name])
    for name in NAMES:
        add_account(chain.state, name)
    return chain


def write(chain: Chain, author: str, permlink: str) -> int:
    """Write a post, which enters its author's blog, and return its comment id."""
    comment, blogs = add_comment(chain.state, author, permlink), blogs_of(chain)
    blogs.prune(author)
    blogs.add(author, comment.id)
    return comment.id


def check(chain: Chain) -> None:
    """Assert that lookups of posts, in each blog and in all blogs together, agree with the list of all entries."""
    blogs = blogs_of(chain)
    entries: dict[tuple[str, int], BlogEntry] = {}
    for entry in blogs.entries:
        assert (entry.account, entry.comment) not in entries, "a post is in a blog twice"
        entries[entry.account, entry.comment] = entry
    for comment in [row.id for row in chain.state.comments] + [10**6]:
        for name in NAMES:
            assert blogs.find(name, comment) is entries.get((name, comment))
        assert list(blogs.of_comment(comment)) == [entries[name, comment] for name in NAMES if (name, comment) in entries]


@pytest.mark.parametrize("seed", range(10))
def test_posts_are_found_in_blogs_after_random_events(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "FEED_SIZE_MAX", 5)
    draw, chain = Random(seed), chain_of_bloggers()
    state, blogs = chain.state, blogs_of(chain)
    positions = list[int]()
    for step in range(250):
        name, ids = draw.choice(NAMES), [row.id for row in state.comments]
        action = draw.choices(("write", "reblog", "delete", "wait", "mark", "undo"), (6, 8, 3, 4, 1, 1))[0]
        if action == "write":
            write(chain, name, f"post-{step}")
        elif action == "reblog" and ids:
            comment = draw.choice(ids)
            if blogs.find(name, comment) is None:
                blogs.add(name, comment, state.head_time)
        elif action == "delete" and ids:
            comment = draw.choice(ids)
            for entry in list(blogs.of_comment(comment)):
                blogs.remove(entry)
            # Before hardfork 19 a deleted post could leave the blogs but remain in the state.
            if draw.random() < 0.8:
                state.comments.remove(state.comments.find(comment))
        elif action == "wait":
            move_to(state, state.head_time + 3)
        elif action == "mark":
            positions.append(state.journal.position())
        elif action == "undo" and positions:
            state.journal.undo(positions.pop())
        check(chain)
        blogs.entries.check()


def test_an_own_post_is_not_searched_through_all_reblogs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "FEED_SIZE_MAX", 5)
    chain, looked_at = chain_of_bloggers(), list[int]()
    blogs = blogs_of(chain)
    first, own = write(chain, "amy", "first"), write(chain, "amy", "own")
    others = [write(chain, "bob", f"post-{n}") for n in range(50)]
    for comment in others:
        blogs.add("amy", comment, chain.state.head_time)
    newest_first = blogs.newest_first

    def watched(account: str, start: int = -1) -> Iterator[BlogEntry]:
        for entry in newest_first(account, start):
            looked_at.append(entry.number)
            yield entry

    monkeypatch.setattr(blogs, "newest_first", watched)
    for comment in (own, first):
        entry = blogs.find("amy", comment)
        assert entry is not None
        assert entry.comment == comment
    assert max(looked_at) == 5


@pytest.mark.parametrize("seed", range(10))
def test_posts_are_found_in_feeds_after_random_events(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "FEED_SIZE_MAX", 8)
    draw, chain = Random(seed), chain_of_bloggers()
    state, feed = chain.state, FOLLOW.of(chain.state).feeds
    positions, found = list[int](), set[bool]()
    for step in range(250):
        ids = [row.id for row in state.comments]
        action = draw.choices(("write", "elsewhere", "reblog", "delete", "wait", "mark", "undo"), (6, 2, 8, 3, 4, 1, 1))[0]
        if action in ("write", "elsewhere"):
            comment = add_comment(state, draw.choice(NAMES), f"post-{step}").id
            if action == "write":
                feed.add("amy", comment)
        elif action == "reblog" and ids:
            feed.reblog("amy", draw.choice(ids), draw.choice(NAMES), state.head_time)
        elif action == "delete" and ids:
            comment = draw.choice(ids)
            feed.forget(comment)
            state.comments.remove(state.comments.find(comment))
        elif action == "wait":
            move_to(state, state.head_time + 3)
        elif action == "mark":
            positions.append(state.journal.position())
        elif action == "undo" and positions:
            state.journal.undo(positions.pop())
        for row in state.comments:
            holds = any(place & feeds.COMMENT_MASK == row.id for place in feed.places.get("amy"))
            assert feed.holds("amy", row.id) is holds
            found.add(holds)
    assert found == {True, False}


def test_an_old_post_is_not_searched_through_the_whole_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    chain, looked_at = chain_of_bloggers(), list[int]()
    feed = FOLLOW.of(chain.state).feeds
    old = add_comment(chain.state, "bob", "old").id
    for number in range(400):
        move_to(chain.state, chain.state.head_time + 3)
        feed.add("amy", add_comment(chain.state, "bob", f"post-{number}").id)
    arrived = feed._arrived

    def watched(account: str, comment: int) -> int:
        looked_at.append(comment)
        return arrived(account, comment)

    monkeypatch.setattr(feed, "_arrived", watched)
    assert not feed.holds("amy", old)
    assert len(looked_at) < 15
