"""Content: comments, their options, votes. Sources: operations.md §8; wire-format.md §4.1, §4.4, §5."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Struct

from state.effects import comments
from state.effects.body_patch import WorkBudget, edited
from state.effects.early_voting import cast_early_vote
from state.effects.voting import cast_vote
from state.operations.checks import require_account_name, require_optional_account_name, require_permlink, require_valid_json
from state.protocol.codec.kinds import AccountName, Bool, ChainVariant, Codecs, Int16, Many, Pairs, Share, SymbolKind, Text, UInt16, Variant
from state.protocol.constants import COIN_100_PERCENT, COIN_BENEFICIARY_LIMIT, COIN_COMMENT_TITLE_LIMIT, SMT_MAX_VOTABLE_ASSETS, TIME_MAX
from state.protocol.errors import Refused, require
from state.protocol.operation import Operation, operation
from state.protocol.values import text
from state.protocol.values.asset import COIN, SBD, Asset
from state.tables import State
from state.tables.content import Comment as CommentRow
from state.tables.texts import CommentContent

MAX_ACCEPTED_PAYOUT = Asset(1_000_000_000, SBD)

# ------------------------------------------------------------------ votes


@operation(0, posting="voter", impacted=("voter", "author"), protected="voter")
class Vote(Operation, frozen=True):
    """Vote a comment up or down, with a weight in basis points. A weight of 0 withdraws the vote."""

    voter: AccountName = ""
    author: AccountName = ""
    permlink: Text = ""
    weight: Int16 = 0

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.voter)
        require_account_name(self.author)
        if abs(self.weight) > COIN_100_PERCENT:
            raise Refused("Weight is not a COINIT percentage", condition="abs(weight) <= COIN_100_PERCENT")
        require_permlink(self.permlink)

    def apply(self, state: State) -> None:
        comment, voter = comments.comment_of(state, self.author, self.permlink), state.account(self.voter)
        if not voter.can_vote:
            raise Refused("Voter has declined their voting rights.", condition="voter.can_vote")
        if self.weight > 0 and not comment.allow_votes:
            raise Refused("Votes are not allowed on the comment.", condition="comment.allow_votes")

        if state.hardfork >= 20:
            cast_vote(state, voter, comment, self.weight)
        else:
            # The rules before hardfork 20 are very different.
            cast_early_vote(state, voter, comment, self.weight)


# ------------------------------------------------------------------ comments


@operation(1, posting="author", units=13)
class Comment(Operation, frozen=True):
    """Publish or edit a post or a reply."""

    parent_author: AccountName = ""
    parent_permlink: Text = ""
    author: AccountName = ""
    permlink: Text = ""
    title: Text = ""
    body: Text = ""
    json_metadata: Text = ""

    def impacted(self) -> set[str]:
        return {self.author, self.parent_author or self.author}

    def validate(self, codecs: Codecs) -> None:
        size = text.size(self.title)
        require(
            size < COIN_COMMENT_TITLE_LIMIT,
            "Title size limit exceeded. Max: ${max} Current: ${n}",
            condition="title.size() < COIN_COMMENT_TITLE_LIMIT",
            max=COIN_COMMENT_TITLE_LIMIT - 1,
            n=size,
        )
        require(text.is_utf8(self.title), "Title not formatted in UTF8", condition="fc::is_utf8( title )")
        require(self.body, "Body is empty", condition="body.size() > 0")
        require(text.is_utf8(self.body), "Body not formatted in UTF8", condition="fc::is_utf8( body )")
        require_optional_account_name(self.parent_author)
        require_account_name(self.author)
        require_permlink(self.parent_permlink)
        require_permlink(self.permlink)
        if self.json_metadata:
            require_valid_json(self.json_metadata, "json_metadata")

    def apply(self, state: State) -> None:
        # The reference checks again here that there is a body. The static checks have already ensured this.
        comment, author = comments.find_comment(state, self.author, self.permlink), state.account(self.author)
        parent = None
        if self.parent_author:
            parent = comments.comment_of(state, self.parent_author, self.parent_permlink)
            comments.require_depth(state, parent)
        require(text.is_utf8(self.json_metadata), "JSON Metadata must be UTF-8", condition="fc::is_utf8( o.json_metadata )")
        if comment is None:
            if parent is not None:
                comments.require_open(state, parent)
            comments.require_pause(state, author, parent)
            # Before hardfork 1 permlinks could have any characters.
            if state.hardfork >= 1:
                comments.require_new_permlink(self.parent_permlink)
                comments.require_new_permlink(self.permlink)

            comment = comments.publish(state, author, parent, self.permlink, self.parent_permlink)
            state.comment_contents.insert(
                CommentContent(comment=comment.id, title=self.title, body=self.body, json_metadata=self.json_metadata)
            )
            comments.count_descendant(state, parent, 1)
            return
        comments.require_editable(state, author, comment)
        comments.require_same_parent(state, comment, self.parent_author, self.parent_permlink)

        now = state.head_time
        state.comments.modify(comment, last_update=now, active=now)
        state.accounts.modify(author, last_post_edit=now)
        content = state.comment_contents.by_comment.find(comment.id)
        # All edits of a transaction share one work budget.
        budget = WorkBudget(state.position.edit_steps)
        changes = {"body": edited(content.body, self.body, budget)}
        state.position.edit_steps = budget.left
        if self.title:
            changes["title"] = self.title
        if self.json_metadata:
            changes["json_metadata"] = self.json_metadata
        state.comment_contents.modify(content, **changes)


@operation(17, posting="author")
class DeleteComment(Operation, frozen=True):
    """Delete a comment without replies and without positive votes."""

    author: AccountName = ""
    permlink: Text = ""

    def validate(self, codecs: Codecs) -> None:
        require_permlink(self.permlink)
        require_account_name(self.author)

    def apply(self, state: State) -> None:
        comment = comments.comment_of(state, self.author, self.permlink)
        require(comment.children == 0, "Cannot delete a comment with replies.", condition="comment.children == 0")
        if state.hardfork >= 19:
            require(comment.cashout_time != TIME_MAX, condition="comment.cashout_time != fc::time_point_sec::maximum()")
            require(comment.net_rshares <= 0, "Cannot delete a comment with net positive votes.", condition="comment.net_rshares <= 0")
        elif comment.net_rshares > 0:
            # Before hardfork 19 such an operation had no effect, and paid comments could be deleted.
            return

        for vote in state.comment_votes.of_comment.of(comment.id):
            state.comment_votes.remove(vote)
        # Before hardfork 6 the ancestors' counts still included it.
        if comment.parent_author and state.hardfork >= 6:
            comments.count_descendant(state, comments.comment_of(state, comment.parent_author, comment.parent_permlink), -1)
        state.comments.remove(comment)


# ------------------------------------------------------------------ options


class Beneficiary(Struct, frozen=True):
    """An account that gets a share of a comment's reward, in basis points."""

    account: AccountName = ""
    weight: UInt16 = 0


class CommentPayoutBeneficiaries(Struct, frozen=True):
    """The accounts that share the author's reward, by ascending name."""

    TAG: ClassVar[int] = 0

    beneficiaries: Annotated[tuple[Beneficiary, ...], Many(Beneficiary)] = ()

    def validate(self) -> None:
        """Refuse a list that is empty or too long, invalid or unordered names, and a weight or a sum of weights above 100 %."""
        shares = self.beneficiaries
        require(shares, "Must specify at least one beneficiary", condition="beneficiaries.size()")
        require(
            len(shares) < COIN_BENEFICIARY_LIMIT,
            "Cannot specify more than ${max} beneficiaries.",
            condition="beneficiaries.size() < COIN_BENEFICIARY_LIMIT",
            max=COIN_BENEFICIARY_LIMIT - 1,
        )
        total = 0
        for i, share in enumerate(shares):
            require_account_name(share.account)
            require(
                share.weight <= COIN_100_PERCENT,
                "Cannot allocate more than 100% of rewards to one account",
                condition=f"beneficiaries[{'i' if i else '0'}].weight <= COIN_100_PERCENT",
            )
            total += share.weight
            require(
                total <= COIN_100_PERCENT, "Cannot allocate more than 100% of rewards to a comment", condition="sum <= COIN_100_PERCENT"
            )
            require(
                not i or shares[i - 1].account < share.account,
                "Benficiaries must be specified in sorted order (account ascending)",
                condition="beneficiaries[i - 1] < beneficiaries[i]",
            )


class VotableAssetInfo(Struct, frozen=True):
    """The maximum payout that a comment accepts in an SMT, and whether its curators are paid."""

    TAG: ClassVar[int] = 0

    max_accepted_payout: Share = 0
    allow_curation_rewards: Bool = False


class AllowedVoteAssets(Struct, frozen=True):
    """The SMTs that can vote on a comment, by ascending symbol."""

    TAG: ClassVar[int] = 1

    votable_assets: Annotated[
        tuple[tuple[int, VotableAssetInfo], ...], Pairs(SymbolKind(), Variant(("votable_asset_info_v1", VotableAssetInfo)))
    ] = ()

    def validate(self) -> None:
        """Refuse more than two SMTs, and COIN, which can always vote."""
        require(
            len(self.votable_assets) <= SMT_MAX_VOTABLE_ASSETS,
            "Too much votable assets specified",
            condition="votable_assets.size() <= SMT_MAX_VOTABLE_ASSETS",
        )
        require(
            all(symbol != COIN for symbol, _ in self.votable_assets),
            "COIN can not be explicitly specified as one of allowed_vote_assets",
            condition="is_allowed(COIN_SYMBOL) == false",
        )


class CommentOption(ChainVariant):
    """Kind of the elements of comment_options' extensions. Vote assets exist only on chains with SMTs."""

    default = CommentPayoutBeneficiaries()

    def variant(self, codecs: Codecs) -> Variant:
        members: list[tuple[str, Any]] = [("comment_payout_beneficiaries", CommentPayoutBeneficiaries)]
        if codecs.spec.smt:
            members.append(("allowed_vote_assets", AllowedVoteAssets))
        return Variant(*members, legacy_pairs=True)


@operation(19, posting="author")
class CommentOptions(Operation, frozen=True):
    """Limit a comment's rewards, and set its beneficiaries."""

    author: AccountName = ""
    permlink: Text = ""
    max_accepted_payout: Asset = MAX_ACCEPTED_PAYOUT
    percent_coin_dollars: UInt16 = COIN_100_PERCENT
    allow_votes: Bool = True
    allow_curation_rewards: Bool = True
    extensions: Annotated[tuple[CommentPayoutBeneficiaries | AllowedVoteAssets, ...], Many(CommentOption(), ascending=True)] = ()

    def validate(self, codecs: Codecs) -> None:
        require_account_name(self.author)
        require(
            self.percent_coin_dollars <= COIN_100_PERCENT,
            "Percent cannot exceed 100%",
            condition="percent_coin_dollars <= COIN_100_PERCENT",
        )
        payout = self.max_accepted_payout
        require(payout.symbol == SBD, "Max accepted payout must be in SBD", condition="max_accepted_payout.symbol == SBD_SYMBOL")
        require(payout.amount >= 0, "Cannot accept less than 0 payout", condition="max_accepted_payout.amount.value >= 0")
        require_permlink(self.permlink)
        for extension in self.extensions:
            extension.validate()

    def apply(self, state: State) -> None:
        comment = comments.comment_of(state, self.author, self.permlink)
        payout, dollars = self.max_accepted_payout.amount, self.percent_coin_dollars
        if not self.allow_curation_rewards or not self.allow_votes or payout < comment.max_accepted_payout:
            require(
                comment.abs_rshares == 0,
                "One of the included comment options requires the comment to have no rshares allocated to it.",
                condition="comment.abs_rshares == 0",
            )
        for kept, text_, field in (
            (
                comment.allow_curation_rewards >= self.allow_curation_rewards,
                "Curation rewards cannot be re-enabled.",
                "allow_curation_rewards",
            ),
            (comment.allow_votes >= self.allow_votes, "Voting cannot be re-enabled.", "allow_votes"),
            (comment.max_accepted_payout >= payout, "A comment cannot accept a greater payout.", "max_accepted_payout"),
            (comment.percent_coin_dollars >= dollars, "A comment cannot accept a greater percent SBD.", "percent_coin_dollars"),
        ):
            require(kept, text_, condition=f"comment.{field} >= o.{field}")
        changes: dict[str, Any] = {}
        for extension in self.extensions:
            if isinstance(extension, CommentPayoutBeneficiaries):
                require_beneficiaries(state, comment, extension.beneficiaries)
                changes["beneficiaries"] = extension.beneficiaries
            else:
                require(
                    comment.abs_rshares == 0,
                    "Comment must not have been voted on before specifying allowed vote assets.",
                    condition="_c.abs_rshares == 0",
                )
                # As in the reference, repeated operations extend the list. No rule reads it.
                changes["allowed_vote_assets"] = comment.allowed_vote_assets + extension.votable_assets

        state.comments.modify(
            comment,
            max_accepted_payout=payout,
            percent_coin_dollars=dollars,
            allow_votes=self.allow_votes,
            allow_curation_rewards=self.allow_curation_rewards,
            **changes,
        )


def require_beneficiaries(state: State, comment: CommentRow, beneficiaries: tuple[Beneficiary, ...]) -> None:
    """Refuse beneficiaries if the comment already has beneficiaries or votes, or if a beneficiary doesn't exist."""
    require(not comment.beneficiaries, "Comment already has beneficiaries specified.", condition="_c.beneficiaries.size() == 0")
    require(
        comment.abs_rshares == 0, "Comment must not have been voted on before specifying beneficiaries.", condition="_c.abs_rshares == 0"
    )
    for beneficiary in beneficiaries:
        require(
            state.accounts.by_name.get(beneficiary.account) is not None,
            'Beneficiary "${a}" must exist.',
            condition="acc != nullptr",
            a=beneficiary.account,
        )
