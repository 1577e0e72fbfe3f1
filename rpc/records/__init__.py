"""What the replies of the RPC methods are made of: one declaration per record, for both forms of JSON and for documentation."""
