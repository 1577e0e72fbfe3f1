'use strict'

const {afterAll, afterEach, beforeAll, beforeEach} = require('@jest/globals')
const {HOOK_MILLISECONDS_MAX, setUp} = require('./hooks.js')

const before = work => beforeAll(work, HOOK_MILLISECONDS_MAX)
const coinChain = setUp({before, beforeEach, afterEach, after: afterAll})
module.exports = {coinChain}
