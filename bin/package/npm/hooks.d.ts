import type {Node, NodeOptions} from './index'

/**
 * Give each test of this file, or of this block, a fresh chain. The node starts before the first test and stops after the last one.
 * `url`, `chainId` and `accounts` are known once it has started.
 */
export declare function coinChain(options?: NodeOptions): Node
