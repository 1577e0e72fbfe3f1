// Errors and arguments of the package. `bin/test npm` runs this file.
import assert from 'node:assert'
import {test} from 'node:test'
import {Node} from 'coind'
import {coinChain} from 'coind/node-test'

const chain = coinChain()

test('a missing command names the variable and the option', async () => {
  await assert.rejects(new Node({command: 'coind-elsewhere'}).start(), /coind-elsewhere[^]*COIND[^]*command/)
})

test('a node that ends for another reason shows its log', async () => {
  await assert.rejects(new Node({chain: 'nowhere'}).start(), error => /nowhere/.test(error.message) && !/COIND/.test(error.message))
})

test('refused expects a function', async () => {
  await assert.rejects(chain.refused(Promise.resolve()), TypeError)
})

test('a parameter that cannot be read is named', async () => {
  await assert.rejects(chain.advance('7d'), /method: dev_api.advance_time\n  parameter: seconds/)
})

test('the time of the next block as a Date', async () => {
  await chain.setNextBlockTime(new Date('2036-01-01T12:00:00.000Z'))
  assert.strictEqual((await chain.mine()).head_block_time, '2036-01-01T12:00:00')
})
