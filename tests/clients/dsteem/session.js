// A session of dsteem: `node session.js URL CHAIN`, on the chains dev-tests and steem-testnet, or on dev, where only
// operations without amounts work.
'use strict'

const dsteem = require('dsteem')
const {chains, INIT_WIF, PASSWORD} = require('../chains.js')
const {step, equal, refused, waitForBlocks} = require('../steps.js')

const INIT_KEY = dsteem.PrivateKey.fromString(INIT_WIF)
const SENT = ['comment', 'vote', 'custom_json']

const keyOf = (name, role) => dsteem.PrivateKey.fromLogin(name, PASSWORD, role)
const publicKeyOf = (name, role) => keyOf(name, role).createPublic('TST').toString()

// Create an account with keys derived from its name, with VESTS and funds from initminer.
function creation(name) {
  const authority = role => ({weight_threshold: 1, account_auths: [], key_auths: [[publicKeyOf(name, role), 1]]})
  return [
    ['account_create', {
      fee: '0.000 TESTS', creator: 'initminer', new_account_name: name,
      owner: authority('owner'), active: authority('active'), posting: authority('posting'),
      memo_key: publicKeyOf(name, 'memo'), json_metadata: '',
    }],
    ['transfer_to_vesting', {from: 'initminer', to: name, amount: '100000.000 TESTS'}],
    ['transfer', {from: 'initminer', to: name, amount: '1000.000 TESTS', memo: ''}],
  ]
}

async function session(url, name) {
  const chain = chains[name]
  const client = new dsteem.Client(url, {addressPrefix: chain.prefix, chainId: chain.id})
  const head = () => client.blockchain.getCurrentBlockNum(dsteem.BlockchainMode.Latest)
  const [active, posting] = [keyOf('alice', 'active'), keyOf('alice', 'posting')]
  const sent = []
  await step('connect', async () => {
    const config = await client.database.getConfig()
    equal([config[`${chain.brand}_CHAIN_ID`], config[`${chain.brand}_ADDRESS_PREFIX`]], [chain.id, chain.prefix])
    await waitForBlocks(head)
  })
  await step('read blocks', async () => {
    const [block, header] = [await client.database.getBlock(1), await client.database.getBlockHeader(1)]
    equal([block.witness, block.timestamp], [header.witness, header.timestamp])
  })
  if (name === 'steem-testnet') {
    await step('create accounts', async () => {
      await client.broadcast.sendOperations([...creation('alice'), ...creation('bob')], INIT_KEY)
    })
  }
  await step('read accounts', async () => {
    const accounts = await client.database.getAccounts(['alice', 'bob'])
    equal(accounts.map(account => [account.name, account.balance]), [['alice', chain.funds], ['bob', chain.funds]])
  })
  await step('comment', async () => {
    const post = {parent_author: '', parent_permlink: 'test', author: 'alice', permlink: 'from-dsteem', title: 'A title', body: 'A body', json_metadata: '{}'}
    sent.push(await client.broadcast.comment(post, posting))
  })
  await step('vote', async () => {
    sent.push(await client.broadcast.vote({voter: 'alice', author: 'alice', permlink: 'from-dsteem', weight: 10000}, posting))
  })
  await step('custom_json', async () => {
    sent.push(await client.broadcast.json({required_auths: [], required_posting_auths: ['alice'], id: 'dsteem', json: '{"works":true}'}, posting))
  })
  await step('follow', async () => {
    const json = JSON.stringify(['follow', {follower: 'alice', following: 'bob', what: ['blog']}])
    sent.push(await client.broadcast.json({required_auths: [], required_posting_auths: ['alice'], id: 'follow', json}, posting))
  })
  await (name === 'dev' ? limit : money)(client, active, sent)
  await refusals(client)
  await waitForBlocks(head)
  await readBack(client, sent)
}

async function money(client, active, sent) {
  await step('transfer', async () => {
    sent.push(await client.broadcast.transfer({from: 'alice', to: 'bob', amount: '1.000 TESTS', memo: 'from dsteem'}, active))
  })
  await step('power up', async () => {
    sent.push(await client.broadcast.sendOperations([['transfer_to_vesting', {from: 'alice', to: 'alice', amount: '2.000 TESTS'}]], active))
  })
  await step('read amounts in the history', async () => {
    const history = (await client.database.call('get_account_history', ['alice', -1, 1000])).map(([, entry]) => entry.op)
    equal(history.filter(([type]) => type === 'transfer').map(([, op]) => [op.amount, op.memo]).pop(), ['1.000 TESTS', 'from dsteem'])
    equal(history.filter(([type]) => type === 'transfer_to_vesting').map(([, op]) => op.amount).pop(), '2.000 TESTS')
  })
  await step('refusal: more than there is', async () => {
    const much = {from: 'alice', to: 'bob', amount: '99999999.000 TESTS', memo: ''}
    const error = await refused(() => client.broadcast.transfer(much, active), 'Account alice does not have sufficient funds')
    equal(error.jse_info.name, 'assert_exception')
  })
}

async function limit(client, active) {
  await step('limit: amounts in COIN are refused by dsteem itself', async () => {
    await refused(() => client.broadcast.transfer({from: 'alice', to: 'bob', amount: '1.000 COIN', memo: ''}, active), 'Invalid asset symbol: COIN')
  })
}

// dsteem builds error texts from the format and the values of the node's first stack frame.
async function refusals(client) {
  await step('refusal: the key of somebody else', async () => {
    const json = {required_auths: ['alice'], required_posting_auths: [], id: 'dsteem', json: '{}'}
    await refused(() => client.broadcast.json(json, keyOf('bob', 'active')), 'Missing Active Authority alice')
  })
  await step('refusal: a method that isn\'t there', async () => {
    const error = await refused(() => client.call('condenser_api', 'i_like_turtles'), 'method_itr != api_itr->second.end(): Could not find method i_like_turtles')
    equal([error.jse_info.code, error.jse_info.name], [10, 'assert_exception'])
  })
  await step('refusal: an invalid name', async () => {
    await refused(() => client.broadcast.sendOperations([['account_witness_proxy', {account: '', proxy: 'bob'}]], INIT_KEY), 'Account name ${n} is invalid n=')
  })
}

// Read the results of the earlier steps from the chain.
async function readBack(client, sent) {
  await step('ids are those of the node', async () => {
    for (const {id} of sent) equal((await client.database.call('get_transaction', [id])).transaction_id, id)
  })
  await step('read history', async () => {
    const history = (await client.database.call('get_account_history', ['alice', -1, 1000])).map(([, entry]) => entry.op)
    equal(SENT.filter(name => !history.some(([type]) => type === name)), [])
  })
  await step('read the comment and its vote', async () => {
    const [post] = await client.database.getDiscussions('blog', {tag: 'alice', limit: 1})
    equal([post.title, post.active_votes.map(vote => vote.voter)], ['A title', ['alice']])
  })
  await step('read followers', async () => {
    const followers = await client.call('follow_api', 'get_followers', ['bob', '', 'blog', 10])
    equal(followers.followers.map(row => row.follower), ['alice'])
  })
  await step('stream blocks and operations', async () => {
    const numbers = []
    for await (const block of client.blockchain.getBlocks({from: 1, to: 3, mode: dsteem.BlockchainMode.Latest})) numbers.push(block.block_id.slice(0, 8))
    equal(numbers, ['00000001', '00000002', '00000003'])
  })
  await step('read resource credits', async () => {
    const mana = await client.rc.getRCMana('alice')
    equal(mana.current_mana > 0 && mana.percentage > 0, true)
  })
  await step('sign what the node verifies', async () => {
    const props = await client.database.getDynamicGlobalProperties()
    const trx = {
      ref_block_num: props.head_block_number & 0xffff, ref_block_prefix: Buffer.from(props.head_block_id, 'hex').readUInt32LE(4),
      expiration: new Date(Date.parse(props.time + 'Z') + 60000).toISOString().slice(0, -5),
      operations: [['vote', {voter: 'alice', author: 'bob', permlink: 'x', weight: 1}]], extensions: [],
    }
    equal(await client.database.verifyAuthority(client.broadcast.sign(trx, keyOf('alice', 'posting'))), true)
  })
}

session(process.argv[2], process.argv[3]).then(() => process.exit(0))
