// A node as a child process, with a chain that each test gets fresh.
'use strict'

const {execFileSync, spawn} = require('node:child_process')
const {once} = require('node:events')
const {closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync} = require('node:fs')
const {tmpdir} = require('node:os')
const path = require('node:path')
const {setTimeout: sleep} = require('node:timers/promises')
const {Chain, Refused} = require('./chain.js')

const START_SECONDS_MAX = 120 // the first start in a checkout includes the setup
const STOP_SECONDS_MAX = 15
const POLL_MILLISECONDS = 5
const LOG_LINES_SHOWN = 20
const NOT_FOUND = 127 // the shell's status for a program that it doesn't find
const ADVICE = 'Install coind, or name its command in the variable COIND or in the option `command`.'

// Runs the node, and ends it when stdin is closed. That happens even if the test process is killed.
const KEEPER = `exec 3<&0
"$@" 3<&- </dev/null & node=$!
{ cat <&3; kill $node; } >/dev/null 2>&1 &
wait $node; status=$?
kill $!; exit $status`

// Methods that change the chain, and block modes in which its head changes without a call.
const CHANGES = /^debug_node_api\.|^dev_api\.(?!explain_|get_|list_)|\.broadcast_/
const BY_THE_CLOCK = /^(interval|mixed)/

class Node extends Chain {
  constructor({command, image, docker = 'docker', chain = 'dev', fork, blocks = 'instant', options = []} = {}) {
    super('')
    this._command = command ?? process.env.COIND ?? 'coind'
    const start = fork ? ['--fork', fork] : ['--chain', chain]
    Object.assign(this, {_image: image, _docker: docker, _options: [...start, '--blocks', blocks, '--quiet', ...options]})
    Object.assign(this, {_process: null, _moment: null, _head: '', _isInTest: false})
  }

  // Start the node on a free port and wait until it answers. Return the node.
  async start() {
    if (this._process !== null) throw new Error('the node is already started')
    this._folder = mkdtempSync(path.join(tmpdir(), 'coind-'))
    this.log = path.join(this._folder, 'log')
    const [command, findAddress] = this._image ? this._inContainer() : this._installed()
    const out = openSync(this.log, 'w')
    // A suite's node gets only the suite's options.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COIND_')))
    this._process = spawn('sh', ['-c', KEEPER, 'sh', ...command], {stdio: ['pipe', out, out], env, detached: true})
    closeSync(out)
    for (const each of [this._process, this._process.stdin]) each.unref()
    const end = Date.now() + START_SECONDS_MAX * 1000
    while (this._isRunning && Date.now() < end) {
      try {
        this.url = findAddress()
        return await this.connect()
      } catch (error) {
        if (error instanceof Refused) throw error
      }
      await sleep(POLL_MILLISECONDS)
    }
    const isMissing = !this._image && this._process.exitCode === NOT_FOUND
    const what = this._isRunning ? `isn't ready after ${START_SECONDS_MAX} s` : `ended with status ${this._process.exitCode} before it was ready`
    const lines = readFileSync(this.log, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN)
    await this.stop()
    throw new Error(`coind ${what}: ${command.join(' ')}\n${lines.map(line => `  ${line}`).join('\n')}${isMissing ? `\n${ADVICE}` : ''}`)
  }

  // End the node.
  async stop() {
    if (this._process === null) return
    if (this._isRunning) {
      this._process.ref()
      const kill = setTimeout(() => process.kill(-this._process.pid, 'SIGKILL'), STOP_SECONDS_MAX * 1000)
      this._process.stdin.end()
      await once(this._process, 'exit')
      clearTimeout(kill)
    }
    this._process = null
    rmSync(this._folder, {recursive: true, force: true})
  }

  get _isRunning() { return this._process.exitCode === null && this._process.signalCode === null }

  // The command of an installed node, and the function that finds its address, or throws while there is none.
  _installed() {
    const words = Array.isArray(this._command) ? this._command : existsSync(this._command) ? [this._command] : this._command.split(/\s+/)
    const readyFile = path.join(this._folder, 'ready.json')
    const command = [...words, 'run', '--port', '0', '--ready-file', readyFile, ...this._options]
    return [command, () => JSON.parse(readFileSync(readyFile, 'utf8')).address]
  }

  // The same for a node in a container, whose port is published to this machine only.
  _inContainer() {
    const name = path.basename(this._folder)
    const container = ['run', '--rm', '--name', name, '--publish', '127.0.0.1::8090', '--env', 'COIND_DATA=', this._image]
    const findAddress = () => `http://${execFileSync(this._docker, ['port', name, '8090'], {stdio: 'pipe', encoding: 'utf8'}).trim()}`
    return [[this._docker, ...container, 'run', '--allow-debug', ...this._options], findAddress]
  }

  async call(method, params) {
    // The next test starts from changes that are made outside of tests.
    if (!this._isInTest && CHANGES.test(method)) this._moment = null
    return super.call(method, params)
  }

  // Take a dev snapshot, if the chain has changed since the last one.
  async beginTest() {
    const {head_block_id: id, pending, block_mode: mode} = await this.info()
    const head = `${id} ${pending}`
    if (this._moment === null || (head !== this._head && !BY_THE_CLOCK.test(mode))) {
      this._moment = await this.snapshot()
      this._head = head
    }
    this._isInTest = true
  }

  // Restore the chain, including its clock, block mode and pending transactions.
  async endTest() {
    try {
      await this.revert(this._moment)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      // The test itself dropped the snapshot by a reset, a load, or a revert to an earlier one.
      await this.reset()
      this._moment = null
    }
    this._isInTest = false
  }
}

module.exports = {Node}
