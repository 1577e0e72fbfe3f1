// The types that a user gets. `bin/test npm` checks this file, and doesn't run it.
import {Chain, Node, Refused, type Account, type Head} from 'coind'
import {coinChain as ofJest} from 'coind/jest'
import {coinChain as ofMocha} from 'coind/mocha'
import {coinChain as ofNodeTest} from 'coind/node-test'
import {CoindContainer} from 'coind/testcontainers'
import {coinChain as ofVitest} from 'coind/vitest'

export async function use(): Promise<void> {
  const chains: Chain[] = [ofJest(), ofMocha({chain: 'dev'}), ofNodeTest(), ofVitest({image: 'coind', options: ['--witnesses', '21']})]
  const node: Node = await new Node({command: ['python', '-m', 'coind']}).start()
  const alice: Account = node.accounts.alice
  const head: Head = await chains[0].mine()
  const refusal: Refused = await node.refused(() => node.broadcast(['vote', {weight: head.head_block_number}], [alice.posting.private]))
  const {block_num: block} = await node.broadcast([['vote', {}], ['vote', {}]])
  await node.call<{balance: string}[]>('condenser_api.get_accounts', [[refusal.rule]])
  await node.setNextBlockTime(new Date())
  const container = await new CoindContainer('coind', {chain: 'dev-tests'}).withNetworkAliases('coind').start()
  const address: [string, string] = [container.getId(), container.chain.url]
  // @ts-expect-error: a block number is null while the transaction is pending
  block.toFixed(address.length)
  // @ts-expect-error: not a number
  await node.mine('1')
  // @ts-expect-error: no such role
  await node.setAuthority('alice', 'actve', alice.active.public)
  // @ts-expect-error: no such option
  new Node({chian: 'dev'})
}
