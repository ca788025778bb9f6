import { type FloorRules, Floors } from '../../core/crd/gateway/floors.ts'

/** Floor rules of an installation without floors. */
export const NO_FLOORS: FloorRules = { floors: Floors.parse({}), platformNamespaces: new Set() }
