'use strict'

const coinChain = require('./hooks.js').setUp(require('node:test'))
module.exports = {coinChain}
