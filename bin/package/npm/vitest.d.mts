export {coinChain} from './hooks.js'
