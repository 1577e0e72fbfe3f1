"""Declared explanations of common refusals: a rule name, a sentence and advice for each message or condition."""

from rpc.declare import demand
from rpc.explain.sentences import (
    Sentence,
    creation_fee,
    current_votes,
    head_time,
    next_post,
    next_vote,
    open_requests,
    operation_names,
    power_down_rate,
    refused_permlink,
    size_limit,
    unclaimed_rewards,
)

WAIT = "Wait until {again_at} (the head block's time is {head_block_time}), then send it again."
MIXED = Sentence(
    "mixed_authorities",
    "Some operations need the posting authority, and others need a higher one: {operations}.",
    "Send them in two transactions, each signed with its key.",
    operation_names,
)
TOO_LARGE = Sentence(
    "transaction_too_large",
    "The transaction has {size} bytes, and at most {size_max} are allowed.",
    "Split it, or shorten its texts.",
    size_limit,
)
FEE = Sentence(
    "wrong_account_creation_fee",
    "The fee is {fee}, but the chain requires exactly {required}.",
    "Set fee to {required} (condenser_api.get_chain_properties, account_creation_fee).",
    creation_fee,
)
KEY_IN_MEMO = "The memo contains a private key of the sender, or the password of its keys. Memos are public forever."

TEXTS: dict[str, Sentence] = {
    # transactions
    "A transaction must have at least one operation": Sentence(
        "no_operations", "The transaction has no operation.", "Put at least one operation into it."
    ),
    "The node is busy, ${n} requests wait already": Sentence(
        "node_busy", "{n} requests are already queued.", "Send it again a moment later."
    ),
    "${n} calls wait for transactions already": Sentence(
        "too_many_waiting", "{n} calls already wait for their transactions.", "Use broadcast_transaction, which doesn't wait."
    ),
    "the block producer doesn't answer, so it is unknown whether it accepted this: ${why}": Sentence(
        "owner_gives_no_answer",
        "The block producer doesn't answer ({why}), so it is unknown whether it accepted the transaction.",
        "Look for its id in the next blocks. If it isn't there, send the same bytes again: the chain never accepts a transaction twice.",
    ),
    # forks of a live chain
    demand.UNANSWERED: Sentence(
        "source_gives_no_answer",
        "{what} is not here, and the source of this fork, {source}, doesn't give it: {why}.",
        "Try again later, or name only accounts and posts that are here. Calls about these don't need the source.",
    ),
    demand.TOO_MANY: Sentence(
        "too_many_to_fetch",
        "The call names {n} accounts, posts and proposals that are not here, and at most {most} are fetched from the source for a call.",
        "Make several calls.",
    ),
    demand.TOO_OFTEN: Sentence("fetched_too_often", "This address has had too much fetched from the source.", "Try again in {seconds} s."),
    demand.FULL: Sentence(
        "fetched_too_much",
        "{what} is not here, and this chain has fetched {size} MiB from its source already.",
        "Start another fork, or name only accounts and posts that are here.",
    ),
    demand.BLOCK_FULL: Sentence(
        "fetched_too_much_in_a_block",
        "What is fetched belongs to the head block, {block}, which has {size} MiB of it: {what} doesn't fit in.",
        "Make a block (dev_api.mine, coind dev mine) or wait for the next one, then send the call again.",
    ),
    demand.ALL_ROUNDS: Sentence(
        "too_many_fetches",
        "The call still needs more from the source after {n} fetches.",
        "Send it again. It then continues where it stopped.",
    ),
    demand.NO_HISTORY: Sentence(
        "history_is_not_here",
        "This chain begins after block {base}, and the node doesn't ask the source for what was before (--history local).",
        "Ask the source itself, or start the node without --history local.",
    ),
    "Tried to execute transaction with no resource user": Sentence(
        "nobody_pays", "No account pays for the transaction: no operation needs an account's authority.", "Add an operation that needs one."
    ),
    "Error when pushing TX:\nReason: TX has been rejected.": Sentence(
        "account_locked", "The rules of the chain have locked the account.", "Use another account."
    ),
    # names, texts
    "Account name ${n} is invalid": Sentence(
        "invalid_account_name",
        "'{n}' can't be the name of an account.",
        "Use 3 to 16 lower-case letters, digits and hyphens, in parts divided by dots. Each part has at least 3 characters, begins with a "
        "letter and ends with a letter or digit. Write it without an @. If it is empty, a field may be missing or misspelt.",
    ),
    "Memo is too large": Sentence("memo_too_long", "The memo has more than 2047 bytes.", "Shorten it."),
    "JSON Metadata not valid JSON": Sentence(
        "invalid_json", "A field that must be JSON isn't (see its value).", "Write it with a JSON library, with nothing after its end."
    ),
    "Permlink is not a valid size.": Sentence(
        "invalid_permlink",
        "The {field} of a new post must have 1 to 255 bytes, unlike '{text}'.",
        "Choose another {field}.",
        refused_permlink,
    ),
    "Invalid permlink character: ${s}": Sentence(
        "invalid_permlink",
        "The {field} {text} contains {s}, which is not allowed.",
        "Use lower-case letters, digits and hyphens only.",
        refused_permlink,
    ),
    "custom_binary_operation is deprecated": Sentence(
        "operation_retired", "The chain no longer accepts custom_binary.", "Use custom_json or custom."
    ),
    # transfers
    "Cannot transfer a negative amount (aka: stealing)": Sentence(
        "amount_not_positive", "The amount {amount} is not above zero.", "Send an amount above zero."
    ),
    "Must transfer a nonzero amount": Sentence(
        "amount_not_positive", "The amount {amount} is not above zero.", "Send an amount above zero."
    ),
    "Transfer of vesting is not allowed.": Sentence(
        "vests_not_transferable", "VESTS can't be transferred.", "Transfer COIN or SBD, or power down (withdraw_vesting) first."
    ),
    "Can only transfer SBD to ${s}": Sentence("sbd_only", "{s} accepts only SBD, not {amount}.", "Send SBD."),
    "Account has reached limit for pending withdraw requests.": Sentence(
        "too_many_savings_requests",
        "{from} has {requests} pending withdrawals from savings, and at most {requests_max} are allowed.",
        "Wait until some are paid (three days after each), or cancel some with cancel_transfer_from_savings.",
        open_requests,
    ),
    # votes and posts
    "Can only vote once every 3 seconds.": Sentence(
        "voting_too_fast", "{voter} voted at {last}. Votes must be 3 seconds apart.", WAIT, next_vote
    ),
    "Your current vote on this comment is identical to this vote.": Sentence(
        "same_vote", "{voter} has already voted for {author}/{permlink} with the weight {weight}.", "Use another weight, or keep the vote."
    ),
    "Vote weight cannot be 0.": Sentence(
        "vote_without_weight",
        "The weight of a first vote can't be 0.",
        "Use -10000 to 10000, in hundredths of a percent. A weight of 0 withdraws an earlier vote.",
    ),
    "Voter has used the maximum number of vote changes on this comment.": Sentence(
        "too_many_vote_changes", "{voter} has changed its vote on {author}/{permlink} as often as allowed.", "Leave the vote as it is."
    ),
    "Account does not have enough mana to vote.": Sentence(
        "no_voting_mana",
        "{voter} has no voting mana for a vote of this weight.",
        "Wait (mana is full again after five days), or vote with less weight.",
    ),
    "Voting weight is too small, please accumulate more voting power or coin power.": Sentence(
        "vote_is_dust", "The vote of {voter} would be below the smallest weight that counts.", "Power up COIN, or vote with more weight."
    ),
    "Voter has declined their voting rights.": Sentence(
        "voting_declined", "{voter} has declined its voting rights.", "Vote with another account."
    ),
    "You may only post once every 5 minutes.": Sentence(
        "posting_too_fast", "{author} posted at {last}. Posts must be more than 5 minutes apart.", WAIT, next_post
    ),
    "You may only comment once every 3 seconds.": Sentence(
        "commenting_too_fast", "{author} published at {last}. Replies must be 3 seconds apart.", WAIT, next_post
    ),
    "Can only perform one comment edit per block.": Sentence(
        "editing_too_fast", "{author} has already edited a post in this block.", "Send it again after the next block."
    ),
    "The permlink of a comment cannot change.": Sentence(
        "parent_is_fixed",
        "The post {author}/{permlink} has another parent_permlink than {parent_permlink}.",
        "Edit it with the original one.",
    ),
    "The parent of a comment cannot change.": Sentence(
        "parent_is_fixed", "The post {author}/{permlink} has another parent than {parent_author}.", "Edit it with the original one."
    ),
    "Cannot delete a comment with replies.": Sentence(
        "post_has_replies", "{author}/{permlink} has replies, so it can't be deleted.", "Empty it by an edit instead."
    ),
    "Cannot delete a comment with net positive votes.": Sentence(
        "post_has_votes", "{author}/{permlink} has votes, so it can't be deleted.", "Empty it by an edit instead."
    ),
    "The parent comment has disabled replies.": Sentence(
        "replies_disabled", "The author of this discussion has disabled replies.", "Reply elsewhere."
    ),
    "Votes are not allowed on the comment.": Sentence(
        "votes_disabled", "{author} has disabled votes on {author}/{permlink}.", "Vote elsewhere."
    ),
    "Comment is nested ${x} posts deep, maximum depth is ${y}.": Sentence(
        "nested_too_deep", "The parent is at depth {x}, and the limit is {y}.", "Reply to a post further up."
    ),
    "Cannot specify more than 8 beneficiaries.": Sentence(
        "too_many_beneficiaries", "This node accepts at most 8 beneficiaries.", "Use fewer beneficiaries."
    ),
    "Benficiaries must be specified in sorted order (account ascending)": Sentence(
        "beneficiaries_not_sorted", "The beneficiaries must be in ascending order by name, without duplicates.", "Sort them by name."
    ),
    "Account ${a} already submitted ${n} custom json operation(s) this block.": Sentence(
        "too_many_custom_operations",
        "{a} has sent {n} custom operations since the last block, the most that this node accepts.",
        "Send it again after the next block.",
    ),
    # rewards, power
    "Must claim something.": Sentence(
        "nothing_to_claim",
        "The operation claims nothing: all its amounts are 0.",
        "Claim up to the earned amounts: {liquid_earned}, {sbd_earned}, {vests_earned}.",
        unclaimed_rewards,
    ),
    "This operation would not change the vesting withdraw rate.": Sentence(
        "power_down_unchanged", "{account} already powers down {present_rate} a week.", "Set another amount, or 0 to stop.", power_down_rate
    ),
    "Account must delegate a minimum of ${v}": Sentence(
        "delegation_too_small", "{vesting_shares} is too little. The first delegation must be at least {v}.", "Delegate {v} or more."
    ),
    "You cannot delegate VESTS to yourself": Sentence(
        "delegation_to_oneself", "{delegator} can't delegate to itself.", "Name another account."
    ),
    # accounts
    "Must pay the exact account creation fee. paid: ${p} fee: ${f}": FEE,
    "Cannot pay more than account creation fee. paid: ${p} fee: ${f}": FEE,
    "${creator} has no claimed accounts to create": Sentence(
        "no_claimed_accounts", "{creator} has no claimed account left.", "Send claim_account first, or pay a fee with account_create."
    ),
    "New ${ac} authority on account ${aa} references non-existing account ${aref}": Sentence(
        "unknown_account_in_authority",
        "The {ac} authority for {aa} names {aref}, which is not an account.",
        "Create it first, or leave it out.",
    ),
    "Authority membership exceeded. Max: ${max} Current: ${n}": Sentence(
        "authority_too_large", "An authority may have {max} keys and accounts, but this one has {n}.", "Use fewer."
    ),
    # witnesses
    "Vote currently exists, user must indicate a desire to reject witness.": Sentence(
        "witness_vote_exists", "{account} already votes for {witness}.", "Set approve to false to withdraw the vote."
    ),
    "Vote doesn't exist, user must indicate a desire to approve witness.": Sentence(
        "no_witness_vote", "{account} doesn't vote for {witness}, so there is no vote to withdraw.", "Set approve to true to vote."
    ),
    "Account has voted for too many witnesses.": Sentence(
        "too_many_witness_votes", "{account} votes for {votes} witnesses, as many as are allowed.", "Withdraw a vote first.", current_votes
    ),
    "A proxy is currently set, please clear the proxy before voting for a witness.": Sentence(
        "proxy_votes",
        "{present_proxy} is the proxy of {account} and votes for it.",
        "Send account_witness_proxy with an empty proxy first.",
        current_votes,
    ),
    "Proxy must change.": Sentence(
        "same_proxy", "The proxy of {account} is already {present_proxy}.", "Set another proxy, or send nothing.", current_votes
    ),
    # the market
    "Limit order has to expire after head block time.": Sentence(
        "order_expired",
        "The order would end at {expires}, and the head block's time is {head_block_time}.",
        "Set a later expiration, in UTC.",
        head_time,
    ),
    "Limit Order Expiration must not be more than 28 days in the future": Sentence(
        "order_lasts_too_long",
        "The order would end at {expires}, more than 28 days after {head_block_time}.",
        "Set an earlier expiration.",
        head_time,
    ),
    "Cancelling order because it was not filled.": Sentence(
        "order_not_filled",
        "The order must be filled at once (fill_or_kill), but there are not enough offers at its price.",
        "Set fill_or_kill to false, or offer more (condenser_api.get_order_book).",
    ),
    "Can only convert SBD to COIN": Sentence("sbd_only", "Only SBD can be converted, not {amount}.", "Name an amount in SBD."),
    "Cannot convert SBD because there is no price feed.": Sentence(
        "no_price_feed", "The chain has no price feed yet.", "Publish prices as witnesses (feed_publish), and wait for the median."
    ),
}

CONDITIONS: dict[str, Sentence] = {
    "held <= free": Sentence(
        "too_many_pending",
        "The pending transactions of {account} would use {held} bytes of memory, more than is free: all pending transactions use "
        "{all} of {max} bytes.",
        "Send it again after the next blocks.",
    ),
    "units <= limit": Sentence(
        "too_much_work",
        "At most {limit} units of work are allowed for {what}, and this took {units} until it was stopped, most of them for {kinds}.",
        "Send its operations in several transactions. The operator of the node may send ten times as much from the same machine.",
    ),
    "fc::raw::pack_size(trx) <= (get_dynamic_global_properties().maximum_block_size - 256)": TOO_LARGE,
    "required_active.size() == 0": MIXED,
    "required_owner.size() == 0": MIXED,
    "required_other.size() == 0": MIXED,
    "!check_max_block_age( args.max_block_age )": Sentence(
        "head_too_old",
        "The head block is older than max_block_age allows: its time is {head_block_time}.",
        "Raise max_block_age, or wait for blocks.",
        head_time,
    ),
}

# Explanations by the beginning of the refusal's message, for messages whose end varies.
BEGINNINGS: dict[str, Sentence] = {
    "Detected private ": Sentence("private_key_in_memo", KEY_IN_MEMO, "Write another memo, and change the keys that this one belongs to."),
    "fc::raw::pack_size(trx) <= ": TOO_LARGE,
}
