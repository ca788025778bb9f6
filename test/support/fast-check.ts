import fc from 'fast-check'
import { IS_FULL } from './proof.ts'

/**
 * Seed of fast-check. Regular runs use the same cases every time, so that a failure is caused by a code change. The nightly
 * run (`npm run test:nightly`) generates new cases each time and reports the seed of a failure.
 */
const SEED = 20_261_121
if (!IS_FULL) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })

export default fc
