'use strict'

const {Chain, Refused} = require('./chain.js')
const {Node} = require('./node.js')

module.exports = {Chain, Node, Refused}
