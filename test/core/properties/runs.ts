import { IS_FULL, size } from '../../support/proof.ts'

/** A seeded small run every time; with `CHAPERONE_PROOF=full` a million, from another seed each night (a failure prints it). */
export function runs(usual: number): { readonly numRuns: number; readonly seed?: number } {
  return { numRuns: size(usual, 1_000_000), ...(IS_FULL ? {} : { seed: 20_261_121 }) }
}

/**
 * A million runs of a property: on two idle cores 2 to 8 minutes each, and half an hour each for the two of GraphQL,
 * which run a server of its own beside; about 45 minutes in all, two files at a time.
 */
export const LONG_MS = IS_FULL ? 3_600_000 : 60_000
