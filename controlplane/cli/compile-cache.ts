import { fileURLToPath } from 'node:url'

/**
 * Folder of Node's compile cache, with which a start skips type stripping and compilation. The folder is inside
 * `node_modules`, because cached code must be as trustworthy as the source; a folder in /tmp is not.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/chaperone', import.meta.url))
