// A session of @hiveio/wax: `node session.js URL CHAIN`, on mainnet-like. wax's own test suite is in no package, and needs its C++ sources.
import {createHiveChain} from '@hiveio/wax'
import {secp256k1} from '@noble/curves/secp256k1'
import bs58 from 'bs58'
import steps from '../steps.js'

const {step, equal, refused, waitForBlocks} = steps

async function call(url, method, params = {}) {
  const body = JSON.stringify({jsonrpc: '2.0', id: 1, method, params})
  const reply = await (await fetch(url, {method: 'POST', body})).json()
  if (reply.error) throw new Error(reply.error.message)
  return reply.result
}

// Sign a digest, with other random numbers until the signature is canonical. wax itself leaves this to its signature providers.
function sign(digest, secret) {
  for (let attempt = 0; ; attempt++) {
    const signature = secp256k1.sign(digest, secret, {extraEntropy: Uint8Array.from({length: 32}, () => attempt)})
    const bytes = signature.toCompactRawBytes()
    const isCanonical = [0, 32].every(at => !(bytes[at] & 0x80) && !(bytes[at] === 0 && !(bytes[at + 1] & 0x80)))
    if (isCanonical) return (31 + signature.recovery).toString(16) + signature.toCompactHex()
  }
}

async function session(url) {
  const {chain_id: chainId} = await call(url, 'database_api.get_version')
  const alice = (await call(url, 'dev_api.list_keys')).find(account => account.name === 'alice')
  const secret = bs58.decode(alice.keys.active.private).slice(1, 33)
  const chain = await createHiveChain({apiEndpoint: url, chainId})
  const send = async (operation, digestOf) => {
    const trx = await chain.createTransaction()
    trx.pushOperation(operation)
    trx.addSignature(sign(digestOf(trx), secret))
    await call(url, 'network_broadcast_api.broadcast_transaction', {trx: JSON.parse(trx.toApi())})
    return trx
  }
  const transfer = memo => ({transfer_operation: {from: 'alice', to: 'bob', amount: chain.hiveCoins(1), memo}})
  const sent = []
  await step('connect', async () => {
    equal([chain.endpointUrl, chain.chainId], [url, chainId])
    await waitForBlocks(async () => (await chain.api.database_api.get_dynamic_global_properties({})).head_block_number)
  })
  await step('read accounts and blocks', async () => {
    const {accounts} = await chain.api.database_api.find_accounts({accounts: ['alice']})
    const {block} = await chain.api.block_api.get_block({block_num: 1})
    equal([accounts[0].memo_key, block.witness], [alice.keys.memo.public, 'initminer'])
  })
  await step('broadcast an operation without amounts', async () => {
    sent.push(await send({custom_json_operation: {required_auths: ['alice'], required_posting_auths: [], id: 'wax', json: '{}'}}, trx => trx.sigDigest))
  })
  await step('broadcast operations with amounts, with the legacy digest', async () => {
    sent.push(await send(transfer('legacy'), trx => trx.legacy_sigDigest))
    const powerUp = {from: 'alice', to: 'bob', amount: chain.hiveCoins(2)}
    sent.push(await send({transfer_to_vesting_operation: powerUp}, trx => trx.legacy_sigDigest))
  })
  await step('limit: operations with amounts, with the digest of Hive', async () => {
    await refused(() => send(transfer('hive'), trx => trx.sigDigest), 'missing required active authority')
  })
  await step('the node has the transactions under the ids of wax', async () => {
    await waitForBlocks(async () => (await chain.api.database_api.get_dynamic_global_properties({})).head_block_number, 2)
    for (const trx of sent) {
      const ids = [trx.id, trx.legacy_id]
      const found = await Promise.allSettled(ids.map(id => call(url, 'account_history_api.get_transaction', {id})))
      equal(found.some(result => result.status === 'fulfilled'), true)
    }
  })
}

await session(process.argv[2])
process.exit(0) // wax keeps timers
