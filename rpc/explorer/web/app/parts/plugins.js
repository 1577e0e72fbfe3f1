// Which plugin of the node serves a group of methods, for pages that meet a node without it.
const PLUGINS = {
  account_by_key_api: "account_by_key",
  account_history_api: "account_history",
  bridge: "communities",
  follow_api: "follow",
  market_history_api: "market_history",
  rc_api: "rc",
  reputation_api: "reputation",
  rewards_api: "rewards_api",
  tags_api: "tags",
  transaction_status_api: "transaction_status",
};

// The plugin that the node would need for a call that it has refused because it doesn't know the group; "" for other errors.
export function missingPlugin(error) {
  const [, group] = error.message.match(/Could not find API (\w+)/) ?? [];
  return PLUGINS[group] ?? "";
}
