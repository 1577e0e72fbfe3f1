import {afterAll, afterEach, beforeAll, beforeEach} from 'vitest'
import {HOOK_MILLISECONDS_MAX, setUp} from './hooks.js'

const before = work => beforeAll(work, HOOK_MILLISECONDS_MAX)
export const coinChain = setUp({before, beforeEach, afterEach, after: afterAll})
