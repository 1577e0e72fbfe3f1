// What operations say: a theme, and a text for each case; see sentences.js.
export const sentences = {
  "vote": {"theme": "posts", "say": {
    "weight>0": "{voter} voted {weight:percent} for {author/permlink}",
    "weight<0": "{voter} voted {weight:percent} against {author/permlink}",
    "": "{voter} took back the vote for {author/permlink}"
  }},
  "comment": {"theme": "posts", "say": {
    "parent_author": "{author} replied to {parent_author/parent_permlink} ({author/permlink:permlink})",
    "": "{author} published {author/permlink:titled}"
  }},
  "delete_comment": {"theme": "posts", "say": "{author} deleted {author/permlink}"},
  "comment_options": {
    "theme": "posts",
    "say": "{author} set what {author/permlink} may earn: at most {max_accepted_payout}, {percent_coin_dollars:percent} of it in SBD"
  },
  "author_reward": {"theme": "posts", "say": "{author} earned {sbd_payout}, {coin_payout} and {vesting_payout} for {author/permlink}"},
  "curation_reward": {"theme": "posts", "say": "{curator} earned {reward} for voting for {comment_author/comment_permlink}"},
  "comment_reward": {"theme": "posts", "say": "{author/permlink} was paid out: {payout} in all"},
  "comment_payout_update": {"theme": "posts", "say": "The payout of {author/permlink} is over"},
  "comment_benefactor_reward": {
    "theme": "posts",
    "say": "{benefactor} got a share of {author/permlink}: {sbd_payout}, {coin_payout} and {vesting_payout}"
  },
  "transfer": {"theme": "money", "say": {"memo": "{from} paid {to} {amount}: {memo:text}", "": "{from} paid {to} {amount}"}},
  "transfer_to_savings": {"theme": "money", "say": "{from} saved {amount} for {to}"},
  "transfer_from_savings": {"theme": "money", "say": "{from} asked for {amount} of the savings, for {to} (request {request_id})"},
  "cancel_transfer_from_savings": {"theme": "money", "say": "{from} called off request {request_id} for savings"},
  "fill_transfer_from_savings": {"theme": "money", "say": "{amount} of the savings of {from} arrived at {to} (request {request_id})"},
  "transfer_to_vesting": {"theme": "money", "say": {"to": "{from} powered up {amount} for {to}", "": "{from} powered up {amount}"}},
  "withdraw_vesting": {"theme": "money", "say": {
    "vesting_shares=0": "{account} stopped powering down",
    "": "{account} began to power down {vesting_shares}"
  }},
  "set_withdraw_vesting_route": {"theme": "money", "say": "{from_account} sends {percent:percent} of what is powered down to {to_account}"},
  "fill_vesting_withdraw": {"theme": "money", "say": "{from_account} powered down {withdrawn}: {to_account} got {deposited}"},
  "delegate_vesting_shares": {"theme": "money", "say": {
    "vesting_shares=0": "{delegator} took back what was delegated to {delegatee}",
    "": "{delegator} delegated {vesting_shares} to {delegatee}"
  }},
  "return_vesting_delegation": {"theme": "money", "say": "{vesting_shares} came back to {account} from a delegation"},
  "claim_reward_balance": {"theme": "money", "say": "{account} claimed rewards: {reward_coin}, {reward_sbd} and {reward_vests}"},
  "claim_reward_balance2": {"theme": "money", "say": "{account} claimed rewards: {reward_tokens}"},
  "interest": {"theme": "money", "say": "{owner} got interest: {interest}"},
  "clear_null_account_balance": {"theme": "money", "say": "The balances of null were destroyed: {total_cleared}"},
  "escrow_transfer": {
    "theme": "money",
    "say": "{from} set {coin_amount} and {sbd_amount} aside for {to}, with {agent} as agent (escrow {escrow_id})"
  },
  "escrow_approve": {"theme": "money", "say": {
    "approve": "{who} approved escrow {escrow_id} of {from}",
    "": "{who} rejected escrow {escrow_id} of {from}"
  }},
  "escrow_dispute": {"theme": "money", "say": "{who} disputed escrow {escrow_id} of {from}"},
  "escrow_release": {
    "theme": "money",
    "say": "{who} released {coin_amount} and {sbd_amount} of escrow {escrow_id} of {from} to {receiver}"
  },
  "convert": {"theme": "market", "say": "{owner} began to convert {amount} (request {requestid})"},
  "fill_convert_request": {"theme": "market", "say": "{owner} converted {amount_in} into {amount_out}"},
  "limit_order_create": {"theme": "market", "say": "{owner} offers {amount_to_sell} for {min_to_receive} (order {orderid})"},
  "limit_order_create2": {"theme": "market", "say": "{owner} offers {amount_to_sell} at {exchange_rate:price} (order {orderid})"},
  "limit_order_cancel": {"theme": "market", "say": "{owner} took back order {orderid}"},
  "fill_order": {"theme": "market", "say": "{current_owner} paid {current_pays} to {open_owner} for {open_pays}"},
  "liquidity_reward": {"theme": "market", "say": "{owner} got {payout} for making the market liquid"},
  "feed_publish": {"theme": "witnesses", "say": "{publisher} published the price {exchange_rate:price}"},
  "witness_update": {"theme": "witnesses", "say": "{owner} updated the witness: signing key {block_signing_key:code}"},
  "witness_set_properties": {"theme": "witnesses", "say": "{owner} set properties of the witness"},
  "account_witness_vote": {"theme": "witnesses", "say": {
    "approve": "{account} voted for the witness {witness}",
    "": "{account} took back the vote for the witness {witness}"
  }},
  "account_witness_proxy": {"theme": "witnesses", "say": {
    "proxy": "{account} lets {proxy} vote for witnesses",
    "": "{account} votes for witnesses without a proxy again"
  }},
  "producer_reward": {"theme": "witnesses", "say": "{producer} got {vesting_shares} for the block"},
  "shutdown_witness": {"theme": "witnesses", "say": "{owner} lost the signing key for missing blocks"},
  "report_over_production": {"theme": "witnesses", "say": "{reporter} reported a witness that signed two blocks for one time"},
  "pow": {"theme": "witnesses", "say": "{worker_account} mined a block"},
  "pow2": {"theme": "witnesses", "say": "A miner showed work"},
  "account_create": {"theme": "accounts", "say": "{creator} created {new_account_name:account} for {fee}"},
  "account_create_with_delegation": {
    "theme": "accounts",
    "say": "{creator} created {new_account_name:account} for {fee} and a delegation of {delegation}"
  },
  "claim_account": {"theme": "accounts", "say": "{creator} claimed an account for {fee}"},
  "create_claimed_account": {"theme": "accounts", "say": "{creator} created the claimed account {new_account_name:account}"},
  "account_update": {"theme": "accounts", "say": "{account} changed keys or metadata"},
  "account_update2": {"theme": "accounts", "say": "{account} changed keys or metadata"},
  "decline_voting_rights": {"theme": "accounts", "say": {
    "decline": "{account} gives up voting for good",
    "": "{account} keeps the right to vote"
  }},
  "request_account_recovery": {"theme": "accounts", "say": "{recovery_account} asked to recover {account_to_recover}"},
  "recover_account": {"theme": "accounts", "say": "{account_to_recover} was recovered"},
  "change_recovery_account": {"theme": "accounts", "say": "{account_to_recover} chose {new_recovery_account} for recovery"},
  "reset_account": {"theme": "accounts", "say": "{reset_account} resets {account_to_reset}"},
  "set_reset_account": {"theme": "accounts", "say": "{account} lets {reset_account} reset it"},
  "create_proposal": {"theme": "governance", "say": "{creator} proposed {daily_pay} a day for {receiver}: {subject:text}"},
  "update_proposal_votes": {"theme": "governance", "say": {
    "approve": "{voter} voted for {proposal_ids:proposals}",
    "": "{voter} took back votes for {proposal_ids:proposals}"
  }},
  "remove_proposal": {"theme": "governance", "say": "{proposal_owner} removed {proposal_ids:proposals}"},
  "proposal_pay": {"theme": "governance", "say": "{receiver} got {payment} for a proposal"},
  "sps_fund": {"theme": "governance", "say": "The treasury got {additional_funds}"},
  "hardfork": {"theme": "governance", "say": "Hardfork {hardfork_id} was applied"},
  "hardfork23": {
    "theme": "governance",
    "say": "Hardfork 23 took what {account} owned: {sbd_transferred}, {coin_transferred} and {vests_converted}"
  },
  "custom": {"theme": "custom", "say": "{required_auths:accounts} sent bytes under the number {id}"},
  "custom_json": {"theme": "custom", "say": "{required_posting_auths+required_auths:accounts} sent {id:code}: {json:text}"},
  "custom_binary": {
    "theme": "custom",
    "say": "{required_posting_auths+required_active_auths+required_owner_auths:accounts} sent bytes under the name {id:code}"
  },
  "smt_create": {"theme": "tokens", "say": "{control_account} created the token {symbol:token}"},
  "smt_setup": {"theme": "tokens", "say": "{control_account} set up the token {symbol:token}"},
  "smt_contribute": {"theme": "tokens", "say": "{contributor} contributed {contribution} to {symbol:token}"},
  "smt_setup_emissions": {"theme": "tokens", "say": {
    "remove": "{control_account} removed the last emissions of {symbol:token}",
    "": "{control_account} set up emissions of {symbol:token}"
  }},
  "smt_set_setup_parameters": {"theme": "tokens", "say": "{control_account} set parameters of {symbol:token}"},
  "smt_set_runtime_parameters": {"theme": "tokens", "say": "{control_account} set how posts earn {symbol:token}"}
};

// What applications say in a custom_json that nodes understand: by its id, the action, and the first of its `what`. The signers do it.
export const customs = {
  "follow/follow/blog": "{required_posting_auths:accounts} followed {following:account}",
  "follow/follow/ignore": "{required_posting_auths:accounts} muted {following:account}",
  "follow/follow/": "{required_posting_auths:accounts} unfollowed {following:account}",
  "follow/reblog/": "{required_posting_auths:accounts} reblogged {author/permlink}",
  "community/subscribe/": "{required_posting_auths:accounts} subscribed to {community:account}",
  "community/unsubscribe/": "{required_posting_auths:accounts} left {community:account}",
  "community/setRole/": "{required_posting_auths:accounts} gave {account} the role {role:code} in {community:account}",
  "community/setUserTitle/": "{required_posting_auths:accounts} gave {account} the title {title:text} in {community:account}",
  "community/updateProps/": "{required_posting_auths:accounts} changed the settings of {community:account}",
  "community/mutePost/": "{required_posting_auths:accounts} muted {account/permlink} in {community:account}",
  "community/unmutePost/": "{required_posting_auths:accounts} unmuted {account/permlink} in {community:account}",
  "community/pinPost/": "{required_posting_auths:accounts} pinned {account/permlink} in {community:account}",
  "community/unpinPost/": "{required_posting_auths:accounts} took {account/permlink} off the top of {community:account}",
  "community/flagPost/": "{required_posting_auths:accounts} flagged {account/permlink} in {community:account}"
};

// The verbs of the sentences above and their infinitives, for operations that were refused.
export const verbs = {
  "approved": "approve", "asked": "ask", "began": "begin", "called": "call", "changed": "change", "chose": "choose", "claimed": "claim",
  "contributed": "contribute", "created": "create", "delegated": "delegate", "deleted": "delete",
  "disputed": "dispute", "flagged": "flag", "followed": "follow", "gave": "give", "gives": "give", "keeps": "keep",
  "left": "leave", "lets": "let", "mined": "mine", "muted": "mute", "offers": "offer", "paid": "pay", "pinned": "pin",
  "powered": "power", "proposed": "propose", "published": "publish", "reblogged": "reblog", "rejected": "reject",
  "released": "release", "removed": "remove", "replied": "reply", "reported": "report", "resets": "reset", "saved": "save",
  "sends": "send", "sent": "send", "set": "set", "showed": "show", "stopped": "stop", "subscribed": "subscribe", "took": "take",
  "unfollowed": "unfollow", "unmuted": "unmute", "updated": "update", "voted": "vote", "votes": "vote", "was": "be"
};
