// A dev chain over RPC, and the error for a refused call. docs/testing-api.md describes the methods.
'use strict'

const assert = require('node:assert')
const http = require('node:http')

const REFUSED_MAX = 10 // refused transactions that `refused` looks at

// A refused call. For a refused transaction, it also has the members of the explanation: rule, why, what_to_do, values.
class Refused extends Error {
  constructor(method, {code, message, data}) {
    const explain = {rule: '', why: '', what_to_do: '', values: {}, ...data?.explain}
    const guess = data?.closest?.length ? `; is it ${data.closest.join(' or ')}?` : ''
    const called = data?.explain ? {} : {method: method + guess, parameter: data?.parameter}
    const lines = {...called, rule: explain.rule, why: explain.why, 'what to do': explain.what_to_do}
    super([message, ...Object.entries(lines).filter(([, text]) => text).map(([name, text]) => `  ${name}: ${text}`)].join('\n'))
    Object.assign(this, {name: 'Refused', code, data}, explain)
  }
}

class Chain {
  constructor(url) { this.url = url }

  // Read the chain's id and its accounts with known keys. Return the chain.
  async connect() {
    this.chainId = (await this.call('dev_api.get_info')).chain_id
    const listed = await this.call('dev_api.list_keys')
    this.accounts = Object.fromEntries(listed.map(({name, keys}) => [name, {name, ...keys}]))
    return this
  }

  async call(method, params = {}) {
    const reply = await post(this.url, JSON.stringify({jsonrpc: '2.0', id: 1, method, params}))
    if (reply.error) throw new Refused(method, reply.error)
    return reply.result
  }

  // Expect that `work` is refused, by this rule if one is given, and return the refusal. Any client can send the transaction: if a
  // library throws its own error, that counts if the node has refused a transaction meanwhile.
  async refused(work, rule = '') {
    if (typeof work !== 'function') throw new TypeError('refused expects a function, for example () => chain.broadcast(...)')
    const before = await this.call('dev_api.list_refused', {limit: REFUSED_MAX})
    const expected = rule && ` by ${rule}`
    let error = await Promise.resolve().then(work).then(() => null, thrown => thrown)
    if (error === null) assert.fail(`nothing was refused, although a refusal${expected} was expected`)
    if (!(error instanceof Refused)) {
      const now = await this.call('dev_api.list_refused', {limit: REFUSED_MAX})
      if (countNew(before, now) === 0) throw error
      error = new Refused('', {message: now[0].message, data: {explain: now[0].explain}})
    }
    if (rule && error.rule !== rule) assert.fail(`refused by ${error.rule || 'another rule'}, although a refusal${expected} was expected:\n${error.message}`)
    return error
  }

  // One operation, or a list of operations. The node signs with the keys of the known accounts and with the private `keys`.
  async broadcast(operations, keys = []) {
    return this.call('dev_api.broadcast_operations', {operations: Array.isArray(operations[0]) ? operations : [operations], keys})
  }
  async push(trx) {
    const api = trx.operations.some(Array.isArray) ? 'condenser_api' : 'network_broadcast_api'
    await this.call(`${api}.broadcast_transaction`, [trx])
  }
  async explain(trx) { return this.call('dev_api.explain_transaction', {trx}) }

  async mine(count = 1) { return this.call('dev_api.mine', {count}) }
  async advance(seconds, leap = '') { return this.call('dev_api.advance_time', {seconds, leap}) }
  async setBlockMode(mode) { await this.call('dev_api.set_block_mode', {mode}) }
  async setNextBlockTime(time) {
    return this.call('dev_api.set_next_block_time', {time: time instanceof Date ? time.toISOString().slice(0, 19) : time})
  }
  async info() { return this.call('dev_api.get_info') }
  async digest(shown = false) { return (await this.call('dev_api.get_state_digest', {shown})).digest }

  async snapshot() { return (await this.call('dev_api.snapshot')).id }
  async revert(id) { return this.call('dev_api.revert', {id}) }
  async reset() { return this.call('dev_api.reset') }
  async popBlocks(count = 1) { return this.call('dev_api.pop_blocks', {count}) }
  async dump(path) { return this.call('dev_api.dump', {path}) }
  async load(path) { return this.call('dev_api.load', {path}) }

  async setBalance(account, balance) { await this.call('dev_api.set_balance', {account, balance}) }
  async setVests(account, vests) { await this.call('dev_api.set_vests', {account, vests}) }
  async setAuthority(account, role, authority) { await this.call('dev_api.set_authority', {account, role, authority}) }
  async impersonate(accounts = [], everyone = false) { await this.call('dev_api.impersonate', {accounts, everyone}) }
  async faucet(account, amount = '') { return this.call('dev_api.faucet', {account, amount}) }
  async dropPending() { return (await this.call('dev_api.drop_pending')).dropped }
}

// Each call has its own connection, because nodes close idle ones, and a call must not be sent twice.
function post(url, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, {method: 'POST', agent: false}, async reply => {
      const parts = []
      try {
        for await (const part of reply) parts.push(part)
        resolve(JSON.parse(Buffer.concat(parts)))
      } catch (error) {
        reject(new Error(`${url} answers, but not as a node (status ${reply.statusCode}): ${error.message}`))
      }
    })
    request.once('error', error => reject(new Error(`the node at ${url} doesn't answer: ${error.message}`, {cause: error})))
    request.end(body)
  })
}

// Count the entries that are new in a list, the newest first, of at most REFUSED_MAX. Entries can be equal.
function countNew(before, now) {
  const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other)
  let count = 0
  while (count < now.length && !isSame(now.slice(count), before.slice(0, REFUSED_MAX - count))) count++
  return count
}

module.exports = {Chain, Refused}
