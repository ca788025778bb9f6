import { fileURLToPath } from 'node:url'

/**
 * Where Node keeps compiled code, so that a second start need not strip and compile everything again. Beside the
 * packages, because it must be as trustworthy as the code itself; a folder in /tmp is not.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/chaperone', import.meta.url))
