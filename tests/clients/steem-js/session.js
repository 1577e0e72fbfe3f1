// A session of steem-js: `node session.js URL CHAIN`, on the chain dev or steem-testnet.
'use strict'

const steem = require('steem')
const {chains, INIT_WIF, PASSWORD} = require('../chains.js')
const {step, equal, refused, waitForBlocks} = require('../steps.js')

const ROLES = ['owner', 'active', 'posting', 'memo']
const SENT = ['transfer', 'comment', 'vote', 'custom_json', 'transfer_to_vesting']

const wifOf = (name, role) => steem.auth.toWif(name, PASSWORD, role)

// Create an account with keys derived from its name, with VESTS and funds from initminer.
async function create(name) {
  const keys = steem.auth.generateKeys(name, PASSWORD, ROLES)
  const authority = role => ({weight_threshold: 1, account_auths: [], key_auths: [[keys[role], 1]]})
  const [owner, active, posting] = ROLES.map(authority)
  await steem.broadcast.accountCreateAsync(INIT_WIF, '0.000 TESTS', 'initminer', name, owner, active, posting, keys.memo, '')
  await steem.broadcast.transferToVestingAsync(INIT_WIF, 'initminer', name, '100000.000 TESTS')
  await steem.broadcast.transferAsync(INIT_WIF, 'initminer', name, '1000.000 TESTS', '')
}

async function session(url, name) {
  const chain = chains[name]
  steem.api.setOptions({url, transport: 'http', useAppbaseApi: true})
  steem.config.set('address_prefix', chain.prefix)
  steem.config.set('chain_id', chain.id)
  const head = async () => (await steem.api.getDynamicGlobalPropertiesAsync()).head_block_number
  const [active, posting] = [wifOf('alice', 'active'), wifOf('alice', 'posting')]
  const sent = []
  await step('connect', async () => {
    const config = await steem.api.getConfigAsync()
    equal([config[`${chain.brand}_CHAIN_ID`], config[`${chain.brand}_ADDRESS_PREFIX`]], [chain.id, chain.prefix])
    await waitForBlocks(head)
  })
  await step('read blocks', async () => {
    const [block, header] = [await steem.api.getBlockAsync(1), await steem.api.getBlockHeaderAsync(1)]
    equal([block.witness, block.timestamp], [header.witness, header.timestamp])
  })
  if (name === 'steem-testnet') {
    await step('create accounts', async () => {
      await create('alice')
      await create('bob')
    })
  }
  await step('read accounts', async () => {
    const accounts = await steem.api.getAccountsAsync(['alice', 'bob'])
    equal(accounts.map(account => [account.name, account.balance]), [['alice', chain.funds], ['bob', chain.funds]])
    equal(await steem.api.lookupAccountsAsync('al', 1), ['alice'])
  })
  await step('transfer', async () => {
    sent.push(await steem.broadcast.transferAsync(active, 'alice', 'bob', `1.000 ${chain.coin}`, 'from steem-js'))
  })
  await step('comment', async () => {
    sent.push(await steem.broadcast.commentAsync(posting, '', 'test', 'alice', 'from-steem-js', 'A title', 'A body', {}))
  })
  await step('vote', async () => {
    sent.push(await steem.broadcast.voteAsync(posting, 'alice', 'alice', 'from-steem-js', 10000))
  })
  await step('custom_json', async () => {
    sent.push(await steem.broadcast.customJsonAsync(posting, [], ['alice'], 'steem-js', '{"works":true}'))
  })
  await step('follow', async () => {
    const json = JSON.stringify(['follow', {follower: 'alice', following: 'bob', what: ['blog']}])
    sent.push(await steem.broadcast.customJsonAsync(posting, [], ['alice'], 'follow', json))
  })
  await step('power up', async () => {
    sent.push(await steem.broadcast.transferToVestingAsync(active, 'alice', 'alice', `2.000 ${chain.coin}`))
  })
  await refusals(active, chain.coin)
  await waitForBlocks(head)
  await readBack(sent, url, chain)
}

async function refusals(active, coin) {
  await step('refusal: more than there is', async () => {
    const error = await refused(() => steem.broadcast.transferAsync(active, 'alice', 'bob', `99999999.000 ${coin}`, ''), 'Account alice does not have sufficient funds')
    equal([error.code, error.data.name], [-32000, 'assert_exception'])
  })
  await step('refusal: the key of somebody else', async () => {
    await refused(() => steem.broadcast.transferAsync(wifOf('bob', 'active'), 'alice', 'bob', `1.000 ${coin}`, ''), 'Missing Active Authority alice')
  })
  await step('refusal: a method that isn\'t there', async () => {
    const call = () => new Promise((resolve, reject) => steem.api.call('condenser_api.i_like_turtles', [], (error, result) => error ? reject(error) : resolve(result)))
    await refused(call, 'Could not find method i_like_turtles')
  })
}

// Read the results of the earlier steps from the chain.
async function readBack(sent, url, chain) {
  await step('ids are those of the node', async () => {
    for (const {id} of sent) equal((await steem.api.getTransactionAsync(id)).transaction_id, id)
  })
  await step('read history', async () => {
    const history = (await steem.api.getAccountHistoryAsync('alice', -1, 1000)).map(([, entry]) => entry.op)
    equal(SENT.filter(name => !history.some(([type]) => type === name)), [])
    equal(history.filter(([type]) => type === 'transfer').map(([, op]) => op.memo).pop(), 'from steem-js')
  })
  await step('read the comment and its vote', async () => {
    const post = await steem.api.getContentAsync('alice', 'from-steem-js')
    equal([post.title, post.active_votes.map(vote => vote.voter)], ['A title', ['alice']])
    equal((await steem.api.getDiscussionsByBlogAsync({tag: 'alice', limit: 1})).map(row => row.permlink), ['from-steem-js'])
  })
  await step('read followers', async () => {
    equal((await steem.api.getFollowersAsync('bob', '', 'blog', 10)).map(row => row.follower), ['alice'])
    equal(await steem.api.getFollowCountAsync('bob'), {account: 'bob', follower_count: 1, following_count: 0})
  })
  await step('call groups other than the condenser with arrays', async () => {
    steem.api.setOptions({url, transport: 'http', useAppbaseApi: false})
    const ask = (api, method, params) => new Promise((resolve, reject) =>
      steem.api.send(api, {method, params}, (error, result) => error ? reject(error) : resolve(result)))
    equal((await ask('database_api', 'get_config', []))[`${chain.brand}_CHAIN_ID`], chain.id)
    equal((await ask('follow_api', 'get_followers', ['bob', '', 'blog', 10])).followers.map(row => row.follower), ['alice'])
  })
  await step('stream blocks', async () => {
    const block = await new Promise((resolve, reject) => {
      const stop = steem.api.streamBlockNumber('head', (error, number) => { stop(); error ? reject(error) : resolve(number) })
    })
    equal(block > 3, true)
  })
  await step('by WebSocket', async () => {
    steem.api.stop()
    steem.api.setOptions({url: url.replace('http:', 'ws:'), transport: 'ws', useAppbaseApi: true})
    equal((await steem.api.getAccountsAsync(['alice'])).map(account => account.name), ['alice'])
  })
}

session(process.argv[2], process.argv[3]).then(() => process.exit(0))
