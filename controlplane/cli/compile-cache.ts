import { fileURLToPath } from 'node:url'

/**
 * Folder of Node's compile cache, which saves stripping types and compiling at every start. It is inside `node_modules`, because
 * cached code must be as trustworthy as the source; a folder in /tmp is not.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/chaperone', import.meta.url))
