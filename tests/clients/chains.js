// The chains for the JavaScript sessions.
'use strict'

const TESTNET = {
  brand: 'STEEM', coin: 'TESTS', prefix: 'TST', funds: '1000.000 TESTS',
  id: '18dcf0a285365fc58b71f18b3d3fec954aa0c141c44e4e5cb4cf777b9eab274e',
}
const DEV = {
  brand: 'COIN', coin: 'COIN', prefix: 'TST', funds: '100000.000 COIN',
  id: 'bd145557a881b8677e017bf3c23a735ce0842845dd942860a86630b9cd2c7948',
}
// Like dev, with symbols that dsteem supports.
const DEV_TESTS = {...DEV, coin: 'TESTS', funds: '100000.000 TESTS', id: '0703e0fea8edf10a5aed3ab9f2ecef56c1c41565cc0c0a932b1dc35232d03010'}
const INIT_WIF = '5JNHfZYKGaomSFvd4NUdQ9qMcEAC43kujbfjueTHpVapX1Kzq2n'
// The password from which the keys of dev's accounts, and of accounts that sessions create, are derived.
const PASSWORD = 'dev'

module.exports = {chains: {dev: DEV, 'dev-tests': DEV_TESTS, 'steem-testnet': TESTNET}, INIT_WIF, PASSWORD}
