import type { Facts } from '../facts.ts'
import type { Around } from './trap.ts'

/** One cell to run. */
export type Order = { readonly programId: string; readonly modeId: string; readonly installed: string }

export type Outcome =
  | { readonly cell: string; readonly facts: Facts }
  | { readonly cell: 'end'; readonly packetsAround: number; readonly around: readonly Around[] }
