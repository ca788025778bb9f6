import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { checkOutRevision, compress } from './freeze/revision.ts'

/**
 * Stores the bundled HTTP/1 codec of an old revision, which has separate codecs for listener and upstream (`node
 * scripts/freeze-codec.ts REVISION`). The tests compare the present codec with it. Writes
 * `test/sidecar/http/http1/frozen/codec-COMMIT.cjs.br`. The same revision gives the same bytes.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'test/sidecar/http/http1/frozen')
const EXPORTS = [
  ['readHead', './sidecar/listener/http1/head.ts'],
  ['ChunkedDecoder, LengthDecoder', './sidecar/listener/http1/decoder.ts'],
  ['UpstreamConnection', './sidecar/upstream/http1/connection.ts'],
]
const ENTRY = EXPORTS.map(([names, file]) => `export { ${names} } from '${file}'`).join('\n')

const [revision] = process.argv.slice(2)
if (revision === undefined) throw new Error('Name a revision: node scripts/freeze-codec.ts REVISION')
using frozen = checkOutRevision(revision, ['core', 'runtime', 'sidecar'])
const { outputFiles } = await build({
  absWorkingDir: frozen.checkout,
  stdin: { contents: ENTRY, resolveDir: frozen.checkout, loader: 'ts' },
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  preserveSymlinks: true,
  legalComments: 'none',
  write: false,
})
mkdirSync(folder, { recursive: true })
const file = join(folder, `codec-${frozen.commit.slice(0, 12)}.cjs.br`)
const bytes = compress(outputFiles[0]?.text ?? '')
writeFileSync(file, bytes)
process.stdout.write(`${relative(root, file)}: ${bytes.length} bytes\n`)
