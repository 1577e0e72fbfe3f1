// The set-up of a test runner, given its hooks. `coinChain` registers them: a node for the file or block that calls it, and a fresh
// chain for each of its tests.
'use strict'

const {Node} = require('./node.js')

const HOOK_MILLISECONDS_MAX = 150_000 // longer than a node waits for its start

function setUp({before, beforeEach, afterEach, after}) {
  return options => {
    const node = new Node(options)
    before(() => node.start())
    beforeEach(() => node.beginTest())
    afterEach(() => node.endTest())
    after(() => node.stop())
    return node
  }
}

module.exports = {HOOK_MILLISECONDS_MAX, setUp}
