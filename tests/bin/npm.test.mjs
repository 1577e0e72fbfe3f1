// The npm package without other packages, against nodes of this checkout. test_npm.py runs it.
import assert from 'node:assert'
import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {createRequire} from 'node:module'
import {tmpdir} from 'node:os'
import path from 'node:path'
import {before, describe, test} from 'node:test'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {Chain, Node, Refused} from '../../bin/package/npm/index.js'
import {coinChain} from '../../bin/package/npm/node-test.js'

const PACKAGE = fileURLToPath(new URL('../../bin/package/npm/index.js', import.meta.url))
const TIMEOUT = {timeout: 60_000}

const transfer = amount => ['transfer', {from: 'alice', to: 'bob', amount: `${amount}.000 COIN`, memo: ''}]

test('require and import give the same', () => {
  assert.strictEqual(createRequire(import.meta.url)(PACKAGE).Node, Node)
})

describe('a chain for each test', TIMEOUT, () => {
  const chain = coinChain()
  const balance = async name => (await chain.call('condenser_api.get_accounts', [[name]]))[0].balance
  let start

  before(async () => {
    await chain.setBalance('bob', '5.000 COIN')
    start = await chain.info()
  })

  for (const time of ['first', 'second']) {
    test(`the ${time} test starts from what changed before all tests`, async () => {
      assert.strictEqual(await balance('bob'), '5.000 COIN')
      assert.deepStrictEqual([(await chain.info()).head_block_id, (await chain.info()).block_mode], [start.head_block_id, 'instant'])
      const {block_num: block} = await chain.broadcast(transfer(1))
      assert.strictEqual(block, start.head_block_number + 1)
      await chain.broadcast([transfer(2), transfer(3)])
      assert.strictEqual(await balance('bob'), '11.000 COIN')
      await chain.advance(86400)
      await chain.setBlockMode('manual')
      assert.strictEqual((await chain.broadcast(transfer(4))).block_num, null)
      assert.ok((await chain.mine(2)).head_block_number > block)
    })
  }

  describe('a block with changes of its own', () => {
    before(() => chain.broadcast(transfer(1)))
    for (const time of ['first', 'second']) test(`the ${time} test starts from them`, async () => assert.strictEqual(await balance('bob'), '6.000 COIN'))
  })

  test('a test can drop all dev snapshots', () => chain.reset())
  test('the next test has the chain of the node\'s start', async () => assert.strictEqual(await balance('bob'), '100000.000 COIN'))

  test('keys, and another client of the same chain', async () => {
    const other = await new Chain(chain.url).connect()
    assert.strictEqual(other.chainId, start.chain_id)
    assert.deepStrictEqual(other.accounts, chain.accounts)
    assert.match(chain.accounts.alice.active.private, /^5/)
    await chain.setAuthority('carol', 'active', chain.accounts.alice.active.public)
    const spent = ['transfer', {from: 'carol', to: 'bob', amount: '1.000 COIN', memo: ''}]
    assert.ok((await other.broadcast(spent, [chain.accounts.alice.active.private])).id)
  })

  test('transactions of impersonated accounts need no signatures', async () => {
    const {head_block_id: id, head_block_number: number, time} = await chain.info()
    const expiration = new Date(Date.parse(`${time}Z`) + 60_000).toISOString().slice(0, 19)
    const prefix = Buffer.from(id, 'hex').readUInt32LE(4)
    const trx = {ref_block_num: number & 0xffff, ref_block_prefix: prefix, expiration, operations: [transfer(1)], extensions: [], signatures: []}
    assert.strictEqual((await chain.explain(trx)).rule, 'missing_active_authority')
    await chain.refused(() => chain.push(trx), 'missing_active_authority')
    await chain.impersonate(['alice'])
    await chain.push(trx)
  })

  test('refusals by rule, of any client', async () => {
    const refusal = await chain.refused(() => chain.broadcast(transfer(999999)), 'insufficient_funds')
    assert.ok(refusal instanceof Refused)
    assert.match(refusal.message, /what to do: /)
    assert.match(refusal.why, /alice/)
    const otherLibrary = () => chain.broadcast(transfer(999999)).catch(() => { throw new TypeError('its own') })
    for (let i = 0; i < 3; i++) assert.strictEqual((await chain.refused(otherLibrary)).rule, 'insufficient_funds')
    await assert.rejects(chain.refused(() => chain.broadcast(transfer(1))), /nothing was refused/)
    await assert.rejects(chain.refused(otherLibrary, 'missing_active_authority'), /refused by insufficient_funds/)
    await assert.rejects(chain.refused(() => { throw new TypeError('no call') }), /^TypeError: no call/)
    await assert.rejects(chain.call('dev_api.mind'), {name: 'Refused', code: -32002, message: /is it dev_api\.mine\?/})
  })
})

describe('nodes', TIMEOUT, () => {
  const isUp = url => fetch(`${url}/health`, {headers: {connection: 'close'}}).then(() => true, () => false)

  test('a node that doesn\'t start says why', async () => {
    const node = new Node({command: ['sh', '-c', 'echo the reason; exit 3']})
    await assert.rejects(node.start(), /ended with status 3 .*\n {2}the reason/)
  })

  test('a stopped node is gone, and a call says so', async () => {
    const node = await new Node({chain: 'dev-tests', options: ['--accounts', '1']}).start()
    assert.deepStrictEqual([(await node.info()).chain, Object.keys(node.accounts).length], ['dev-tests', 2])
    await assert.rejects(node.start(), /already started/)
    await node.stop()
    await assert.rejects(node.info(), /doesn't answer/)
    await node.stop()
  })

  test('a node ends when the test process is killed', async () => {
    const program = `new (require('${PACKAGE}').Node)().start().then(node => { console.log(node.url); setInterval(() => {}, 1000) })`
    const process = spawn('node', ['-e', program], {stdio: ['ignore', 'pipe', 'inherit']})
    const [printed] = await once(process.stdout, 'data')
    const url = String(printed).trim()
    assert.ok(await isUp(url))
    process.kill('SIGKILL')
    while (await isUp(url)) await sleep(10)
  })

  test('a program that doesn\'t stop its node can end', async () => {
    const process = spawn('node', ['-e', `new (require('${PACKAGE}').Node)().start()`], {stdio: 'inherit'})
    assert.deepStrictEqual(await once(process, 'exit'), [0, null])
  })

  test('an image runs in a container', async () => {
    // A program that is called like docker, and starts the command's node instead of a container.
    const folder = mkdtempSync(path.join(tmpdir(), 'docker-'))
    const docker = path.join(folder, 'docker')
    writeFileSync(docker, `#!/bin/sh
case $1 in
port) sed -n 's|.*"http://\\([^"]*\\)".*|\\1|p' "${folder}/$2.json" ;;
run) name=$4; echo "$@" > "${folder}/log"; while [ "$1" != an-image ]; do shift; done; shift
     exec ${process.env.COIND} "$@" --port 0 --ready-file "${folder}/$name.json" ;;
esac`)
    chmodSync(docker, 0o755)
    const node = await new Node({image: 'an-image', docker}).start()
    assert.ok((await node.mine()).head_block_number)
    await node.stop()
    assert.ok(!(await isUp(node.url)))
    rmSync(folder, {recursive: true})
  })
})
