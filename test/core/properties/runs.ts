import { IS_FULL, size } from '../../support/proof.ts'

/** A seeded small run every time; with `CHAPERONE_PROOF=full` a million, from another seed each night (a failure prints it). */
export function runs(usual: number): { readonly numRuns: number; readonly seed?: number } {
  return { numRuns: size(usual, 1_000_000), ...(IS_FULL ? {} : { seed: 20_261_121 }) }
}

/**
 * A million runs of a property: by small runs 2 to 6 minutes each on an idle core, and half an hour each for the two of GraphQL,
 * which run a server of its own beside; some 40 minutes in all, two files at a time.
 */
export const LONG_MS = IS_FULL ? 3_600_000 : 60_000
