import { type FloorRules, Floors } from '../../core/crd/floors.ts'

/** Rules without any floor. */
export const NO_FLOORS: FloorRules = { floors: Floors.parse({}), platformNamespaces: new Set() }
