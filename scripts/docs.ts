import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSite } from './docs/site/build-site.ts'
import { writeDocs } from './docs/write-docs.ts'

/** Writes the documentation as Markdown to `dist/docs`, and as a site to `dist/docs-site`. */
const root = fileURLToPath(new URL('..', import.meta.url))
writeDocs(root, join(root, 'dist/docs'))
console.log('documentation: dist/docs')
buildSite(root, join(root, 'dist/docs-site'))
console.log('site: dist/docs-site')
