// The chains for the JavaScript sessions.
'use strict'

const TESTNET = {
  brand: 'STEEM', coin: 'TESTS', prefix: 'TST', funds: '1000.000 TESTS',
  id: '18dcf0a285365fc58b71f18b3d3fec954aa0c141c44e4e5cb4cf777b9eab274e',
}
const DEV = {
  brand: 'COIN', coin: 'COIN', prefix: 'TST', funds: '100000.000 COIN',
  id: '72a2b8e4c8af1c8e571f90b7ee885840b00fb10acfc8c024cd2b538d4dc4fbbc',
}
// Like dev, with symbols that dsteem supports.
const DEV_TESTS = {...DEV, coin: 'TESTS', funds: '100000.000 TESTS', id: 'aba0ceab4e13f9f3d6248f03359d1a1632d52d57cc8c6826b0250d5eec204e26'}
const INIT_WIF = '5JNHfZYKGaomSFvd4NUdQ9qMcEAC43kujbfjueTHpVapX1Kzq2n'
// The password from which the keys of dev's accounts, and of accounts that sessions create, are derived.
const PASSWORD = 'dev'

module.exports = {chains: {dev: DEV, 'dev-tests': DEV_TESTS, 'steem-testnet': TESTNET}, INIT_WIF, PASSWORD}
