// A node in a container, with the library testcontainers of the user's project.
'use strict'

const {AbstractStartedContainer, GenericContainer, Wait} = require('testcontainers')
const {Chain} = require('./chain.js')

const PORT = 8090

class CoindContainer extends GenericContainer {
  constructor(image = 'coind', {chain = 'dev', blocks = 'instant', options = []} = {}) {
    super(image)
    this.withExposedPorts(PORT)
      .withEnvironment({COIND_DATA: ''})
      .withCommand(['run', '--allow-debug', '--chain', chain, '--blocks', blocks, '--quiet', ...options])
      .withWaitStrategy(Wait.forHttp('/health', PORT))
  }

  async start() {
    const started = await super.start()
    const chain = new Chain(`http://${started.getHost()}:${started.getMappedPort(PORT)}`)
    return new StartedCoindContainer(started, await chain.connect())
  }
}

class StartedCoindContainer extends AbstractStartedContainer {
  constructor(started, chain) {
    super(started)
    this.chain = chain
  }
}

module.exports = {CoindContainer, StartedCoindContainer}
