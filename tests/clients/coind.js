// A node of coind for a suite in JavaScript: start, readiness, snapshots, and the other methods of dev_api. It needs only
// Node.js 18 or newer. Copy it into your project. tests/clients/dsteem/suite.js shows its use.
'use strict'

const {spawn} = require('node:child_process')
const {mkdtempSync, openSync, readFileSync, rmSync} = require('node:fs')
const {tmpdir} = require('node:os')
const path = require('node:path')

const START_SECONDS_MAX = 120 // the first start in a checkout includes the setup
const POLL_MILLISECONDS = 5

// A refused call. `explain` has rule, why, what_to_do and values of a refused transaction, and is null for other calls.
class Refused extends Error {
  constructor(error) {
    const explain = error.data && error.data.explain || null
    super([error.message, explain && explain.why, explain && explain.what_to_do].filter(Boolean).join('\n'))
    this.name = 'Refused'
    this.code = error.code
    this.data = error.data
    this.explain = explain
  }
}

class Node {
  constructor(process, ready, folder) {
    this.url = ready.address
    this.chainId = ready.chain_id
    this._process = process
    this._folder = folder
  }

  // Start a node on a free port and wait until it answers. The chain then has blocks and is ready for clients.
  static async start({command = process.env.COIND || 'coind', chain = 'dev-tests', blocks = 'instant', options = []} = {}) {
    const folder = mkdtempSync(path.join(tmpdir(), 'coind-'))
    const [readyFile, log] = [path.join(folder, 'ready.json'), path.join(folder, 'log')]
    const out = openSync(log, 'w')
    const args = ['run', '--port', '0', '--quiet', '--ready-file', readyFile, '--chain', chain, '--blocks', blocks, ...options]
    const started = spawn(command, args, {stdio: ['ignore', out, out]})
    const kill = () => started.kill()
    process.once('exit', kill)
    let ended = null
    started.once('error', error => { ended = error.message })
    started.once('exit', code => { ended = ended || `it ended with status ${code}`; process.removeListener('exit', kill) })
    for (const end = Date.now() + START_SECONDS_MAX * 1000; !ended && Date.now() < end;) {
      try {
        // The file is written atomically.
        return new Node(started, JSON.parse(readFileSync(readyFile, 'utf8')), folder)
      } catch (error) {
        if (error.code !== 'ENOENT') throw error
      }
      await new Promise(resolve => setTimeout(resolve, POLL_MILLISECONDS))
    }
    kill()
    throw new Error(`coind has not started: ${ended || 'it took too long'}\n${readFileSync(log, 'utf8')}`)
  }

  // End the node.
  async stop() {
    if (this._process.exitCode === null && this._process.signalCode === null) {
      const ended = new Promise(resolve => this._process.once('exit', resolve))
      this._process.kill()
      await ended
    }
    rmSync(this._folder, {recursive: true, force: true})
  }

  // Call an RPC method and return its result; throws Refused.
  async call(method, params = {}) {
    const body = JSON.stringify({jsonrpc: '2.0', id: 1, method, params})
    const reply = await (await fetch(this.url, {method: 'POST', body})).json()
    if (reply.error) throw new Refused(reply.error)
    return reply.result
  }

  // Take a dev snapshot. `revert(id)` restores it any number of times, within milliseconds.
  async snapshot() { return (await this.call('dev_api.snapshot')).id }
  async revert(id) { return this.call('dev_api.revert', {id}) }
  async reset() { return this.call('dev_api.reset') }

  async mine(count = 1) { return this.call('dev_api.mine', {count}) }
  async advance(seconds, leap = '') { return this.call('dev_api.advance_time', {seconds, leap}) }

  // Broadcast operations as one transaction, which the node signs with the keys of the chain's accounts or with `keys`.
  async broadcast(operations, keys = []) { return this.call('dev_api.broadcast_operations', {operations, keys}) }
}

module.exports = {Node, Refused}
