import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeDocs } from './docs/write-docs.ts'

/** Writes the documentation to `dist/docs`. */
const root = fileURLToPath(new URL('..', import.meta.url))
writeDocs(root, join(root, 'dist/docs'))
console.log('documentation: dist/docs')
