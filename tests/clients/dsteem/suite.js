// A test suite with dsteem, each test on a new chain: `COIND=path/to/bin/coind node --test suite.js`. It is the example of
// docs/test-suites.md; in your own project, put `coind.js` next to it.
'use strict'

const assert = require('node:assert')
const {after, afterEach, before, test} = require('node:test')
const dsteem = require('dsteem')
const {Node} = require('../coind.js')

const keyOf = (name, role) => dsteem.PrivateKey.fromLogin(name, 'dev', role)
const transfer = (amount, memo = '') => ({from: 'alice', to: 'bob', amount, memo})

let node, client, moment

before(async () => {
  node = await Node.start({chain: 'dev-tests'})
  client = new dsteem.Client(node.url, {addressPrefix: 'TST', chainId: node.chainId})
  moment = await node.snapshot()
})
after(() => node.stop())
afterEach(() => node.revert(moment))

const balance = async name => (await client.database.getAccounts([name]))[0].balance

test('a transfer that dsteem signs is in a block at once', async () => {
  const {block_num, expired} = await client.broadcast.transfer(transfer('1.000 TESTS'), keyOf('alice', 'active'))
  assert.strictEqual(expired, false)
  assert.strictEqual(block_num, (await client.database.getDynamicGlobalProperties()).head_block_number)
  assert.strictEqual(await balance('bob'), '100001.000 TESTS')
})

test('the next test knows nothing of it', async () => {
  assert.strictEqual(await balance('bob'), '100000.000 TESTS')
})

test('the node signs as well', async () => {
  await node.broadcast([['transfer', transfer('2.000 TESTS')], ['transfer', transfer('3.000 TBD')]])
  assert.strictEqual(await balance('bob'), '100002.000 TESTS')
})

test('a power-down pays after a week', async () => {
  const [{vesting_shares}] = await client.database.getAccounts(['alice'])
  await client.broadcast.sendOperations([['withdraw_vesting', {account: 'alice', vesting_shares}]], keyOf('alice', 'active'))
  const before = parseFloat(await balance('alice'))
  await node.advance(7 * 86400)
  assert.ok(parseFloat(await balance('alice')) > before)
})

test('a refusal says what is wrong', async () => {
  await assert.rejects(client.broadcast.transfer(transfer('1.000 TESTS'), keyOf('bob', 'active')), /Missing Active Authority alice/)
  const [refused] = await node.call('dev_api.list_refused', {limit: 1})
  assert.strictEqual(refused.explain.rule, 'missing_active_authority')
  await assert.rejects(node.broadcast([['transfer', transfer('999999.000 TESTS')]]), {name: 'Refused', code: -32000})
})
