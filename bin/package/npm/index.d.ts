/** An operation in the form with a name and fields, for example `['transfer', {from: 'alice', to: 'bob', amount: '1.000 COIN', memo: ''}]`. */
export type Operation = [name: string, fields: object]

export type Role = 'owner' | 'active' | 'posting'

/** A key pair. The private key is in wallet import format. */
export interface Key {
  public: string
  private: string
}

/** An account with known keys. */
export interface Account {
  name: string
  owner: Key
  active: Key
  posting: Key
  memo: Key
}

/** The head block, and the chain's current time. Times are in UTC, for example `2027-01-01T00:00:00`. */
export interface Head {
  head_block_number: number
  head_block_id: string
  head_block_time: string
  last_irreversible_block_num: number
  time: string
}

/** The head, and the settings of the chain. */
export interface Info extends Head {
  chain: string
  chain_id: string
  version: string
  seconds_ahead: number
  block_mode: string
  leap: string
  witnesses: number
  pending: number
  snapshots: number[]
  impersonated: {accounts: string[]; everyone: boolean}
  [member: string]: unknown
}

/** Thrown if a node refuses a call. Its text has the message, the reason and the fix. */
export declare class Refused extends Error {
  /** The code and the data of the JSON-RPC error. */
  readonly code: number
  readonly data: any
  /** The stable name of the rule that a refused transaction violates, or '' for another call. */
  readonly rule: string
  readonly why: string
  readonly what_to_do: string
  readonly values: Record<string, any>
}

/** A dev chain over RPC. A method that is refused throws `Refused`. */
export declare class Chain {
  constructor(url: string)
  /** The address of the node, for clients. */
  readonly url: string
  /** The chain's id in hex, for clients that sign. Known after `connect`. */
  readonly chainId: string
  /** The funded accounts and the first witness by name: `accounts.alice.active.private`. Known after `connect`. */
  readonly accounts: Record<string, Account>
  /** Read the chain's id and its accounts. Return the chain. */
  connect(): Promise<this>
  /** Call any RPC method and return its result. */
  call<Result = any>(method: string, params?: object): Promise<Result>
  /** Expect that `work` is refused, by this rule or by any, whichever client sends the transaction. Return the refusal. */
  refused(work: () => unknown, rule?: string): Promise<Refused>

  /** Sign operations on the node with the known keys and `keys` (private ones), and broadcast them as one transaction. */
  broadcast(operations: Operation | Operation[], keys?: string[]): Promise<{id: string; block_num: number | null}>
  /** Broadcast a signed transaction, in either JSON form. */
  push(trx: {operations: readonly unknown[]}): Promise<void>
  /** Explain why a signed transaction would be refused. `rule` is null if it would be accepted. */
  explain(trx: object): Promise<any>

  /** Make blocks. Return the new head. */
  mine(count?: number): Promise<Head>
  /** Move the chain's time forward and make a block there. `leap` is about the slots in between: `missed` or `produced`. */
  advance(seconds: number, leap?: string): Promise<Head>
  /** Set the block mode: `instant`, `manual`, `interval`, `interval:SECONDS` or `mixed:SECONDS`. */
  setBlockMode(mode: string): Promise<void>
  /** Set the time of the next block: a Date, or a string in UTC without a time zone, for example `2027-01-01T00:00:00`. */
  setNextBlockTime(time: string | Date): Promise<{next_block_time: string}>
  /** Return the head, the time and the settings of the chain. */
  info(): Promise<Info>
  /** Return the digest of the state. Equal states have equal digests. With `shown`, it is the digest of what methods show. */
  digest(shown?: boolean): Promise<string>

  /** Take a dev snapshot. Return its id for `revert`. */
  snapshot(): Promise<number>
  /** Restore a dev snapshot, any number of times. Later ones are dropped. */
  revert(id: number): Promise<Head>
  /** Restore the start of the node. All dev snapshots are dropped. */
  reset(): Promise<Head>
  /** Undo the newest blocks. */
  popBlocks(count?: number): Promise<Head>
  /** Write the whole chain to a file on the node's machine. */
  dump(path: string): Promise<Head & {path: string; size: number}>
  /** Continue from a file that `dump` wrote. */
  load(path: string): Promise<Head>

  /** Set a liquid balance, for example `5.000 COIN`. */
  setBalance(account: string, balance: string): Promise<void>
  /** Set the VESTS of an account, for example `5.000000 VESTS`. */
  setVests(account: string, vests: string): Promise<void>
  /** Replace the authority of a role with another authority, or with one public key. */
  setAuthority(account: string, role: Role, authority: object | string): Promise<void>
  /** Accept transactions of these accounts, or of everyone, without signatures. Without arguments, end it. */
  impersonate(accounts?: string[], everyone?: boolean): Promise<void>
  /** Credit newly created tokens, by default 1000.000 COIN. Return the balances. */
  faucet(account: string, amount?: string): Promise<{account: string; balance: string; sbd_balance: string; vesting_shares: string}>
  /** Drop the pending transactions. Return their number. */
  dropPending(): Promise<number>
}

export interface NodeOptions {
  /** The command of the node: a program in PATH, a path, or words. By default the variable COIND, else `coind`. */
  command?: string | string[]
  /** Run this image in a container instead. */
  image?: string
  /** The program that runs containers. By default `docker`. */
  docker?: string
  /** The name of a chain spec, or its path. By default `dev`. */
  chain?: string
  /** A fork file with which the chain begins, instead of `chain`. */
  fork?: string
  /** The block mode. By default `instant`: a block for each accepted transaction. */
  blocks?: string
  /** Further options of `coind run`, for example `['--witnesses', '21']`. */
  options?: string[]
}

/** A node as a child process. It ends when the test process ends, even if that is killed. */
export declare class Node extends Chain {
  constructor(options?: NodeOptions)
  /** The path of the node's log, while it runs. */
  readonly log: string
  /** Start the node on a free port and wait until it answers. Return the node. */
  start(): Promise<this>
  /** End the node. */
  stop(): Promise<void>
  /** Begin a test of a runner without a set-up. What changed outside of tests is in its chain. */
  beginTest(): Promise<void>
  /** End a test: restore the chain, including its clock, block mode and pending transactions. */
  endTest(): Promise<void>
}
