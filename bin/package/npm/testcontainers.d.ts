import {AbstractStartedContainer, GenericContainer, type StartedTestContainer} from 'testcontainers'
import type {Chain, NodeOptions} from './index'

/** A container with a node. Everyone who can reach the published port can call dev_api. */
export declare class CoindContainer extends GenericContainer {
  /** By default, the image is `coind`. */
  constructor(image?: string, options?: Pick<NodeOptions, 'chain' | 'blocks' | 'options'>)
  /** Start the container and wait until the node answers. */
  start(): Promise<StartedCoindContainer>
}

export declare class StartedCoindContainer extends AbstractStartedContainer {
  constructor(started: StartedTestContainer, chain: Chain)
  /** The node's chain. */
  readonly chain: Chain
}
