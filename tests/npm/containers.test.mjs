// A node in a container without testcontainers.
import assert from 'node:assert'
import {test} from 'node:test'
import {Node} from 'coind'

test('the option image', async () => {
  const node = await new Node({image: 'coind', options: ['--accounts', '3']}).start()
  assert.strictEqual((await node.mine()).head_block_number, (await node.info()).head_block_number)
  await node.stop()
  await assert.rejects(node.info(), /doesn't answer/)
})
