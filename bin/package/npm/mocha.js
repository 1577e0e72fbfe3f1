'use strict'

const {HOOK_MILLISECONDS_MAX, setUp} = require('./hooks.js')

// mocha's hooks are globals, and exist once it loads the suite.
const slow = hook => work => globalThis[hook](async function () {
  this.timeout(HOOK_MILLISECONDS_MAX)
  await work()
})
const coinChain = setUp({before: slow('before'), beforeEach: slow('beforeEach'), afterEach: slow('afterEach'), after: slow('after')})
module.exports = {coinChain}
