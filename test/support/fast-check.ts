import fc from 'fast-check'
import { IS_FULL } from './proof.ts'

/**
 * fast-check, with the same cases in every run, so that a run is judged by what was changed before it. The nightly run
 * (`npm run test:nightly`) draws new ones each time, and names the seed of what it finds.
 */
const SEED = 20_261_121
if (!IS_FULL) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })

export default fc
