export {coinChain} from './hooks'
